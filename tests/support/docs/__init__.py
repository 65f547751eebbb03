"""The pages of the documentation as programs: their code blocks are found, checked and executed."""
