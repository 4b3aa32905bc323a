"""What runs inside a Python job: standard library only, Python 3.8 or newer, nothing imported before it is needed.

`start.py` is executed by its path and loads the rest as the package `_bide`, so that nothing here can meet a module of
the user's code. Imports are relative, because to the job's interpreter there is no package `bide`.
"""
