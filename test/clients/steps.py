# What the programs in Python share: commands come in, rows go out.  See test/t/HiloTest.pm.
import sys


def rows(count, item):
    return [item] if count == 1 else [f"{item} {n + 1}" for n in range(count)]


def show(table, *shown):
    for row in shown:
        print(table, row.id, row.item, sep="|")


def serve(client):
    """Do each command by the function of its name in a module."""
    for line in sys.stdin:
        name, *words = line.rstrip("\n").split(" ", 3)
        if name == "add":
            table, count, item = words
            client.add(table, rows(int(count), item))
        else:
            getattr(client, name)(*words)
        print("done", flush=True)
