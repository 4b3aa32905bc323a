"""The door for shells. `main` picks the command; each command is a module that is imported only when it is used."""
