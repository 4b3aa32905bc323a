# tool: ansible-playbook -vvv
# how: 150 tasks with their details, one in the middle fails and is rescued by a task that fails, too
# decisive: Destination /srv/app/shop/etc/app.conf does not exist !
prepare() {
python3 - <<'X'
import json
def task(n):
    return {"name": f"write part {n}", "ansible.builtin.command": {"cmd": f"echo part {n} no error"}, "changed_when": False}
edit = {"name": "set the port", "ansible.builtin.lineinfile": {"path": "/srv/app/shop/etc/app.conf", "regexp": "^port", "line": "port=80"}}
block = {"name": "configure", "block": [edit], "rescue": [task(1000)]}
check = {"name": "the service answers", "ansible.builtin.command": {"cmd": "test -S /srv/app/shop/app.sock"}, "changed_when": False}
tasks = [task(n) for n in range(35)] + [block] + [task(n) for n in range(35, 70)] + [check]
open("site.yml", "w").write(json.dumps([{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]))
X
}
run() { ansible-playbook -vvv -i localhost, site.yml; }
