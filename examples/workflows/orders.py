"""The workflow of orders.yaml, written in Python. Run it to print it as YAML."""

from __future__ import annotations

from calve import Workflow, foreach, job, param, sel, while_

with Workflow(
    "demo.orders",
    description="Load the orders of three days, and tell others when they are there.",
    trigger={"cron": "0 5 * * *", "timezone": "Europe/Berlin"},
    run_strategy="parallel",
    workflow_concurrency=3,
    tags=["demo"],
    timeout="2h",
    from_date=20240101,
    region="eu",
    dates=sel("Util.dateIntsBetween(from_date, 20240104, 1);", "array<long>"),
    limit=param(100, "long", "constant"),
) as orders:
    prepare = job("prepare", "NoOp", rows=42)
    with foreach("per_day", {"date": sel("dates", "array<long>")}, concurrency=2) as per_day:
        job(
            "load",
            "Shell",
            script='echo "loading $region $date, at most $limit rows"',
            retry_policy={
                "error_retry_limit": 3,
                "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 10},
            },
        )
    with while_("settle", "n < 3", {"n": 0}) as settle:
        job("tick", "Sleep", sleep_seconds=1, n=sel("n + 1", "long"))
    done = job("done", "NoOp", signal_outputs=[{"name": "demo/orders", "params": {"region": "$region"}}])

    prepare.when("rows > 0") >> per_day >> settle >> done
    prepare.otherwise() >> done

if __name__ == "__main__":
    print(orders)
