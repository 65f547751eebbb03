"""What pages show, as data: one module a page. The same data is the page's twin in the API."""
