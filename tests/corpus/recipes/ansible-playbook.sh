# tool: ansible-playbook
# how: twelve tasks on this machine, the eighth copies a file that is not there
# decisive: Could not find or access 'files/app.service'
prepare() {
python3 - <<'X'
tasks = [{"name": f"make folder {n}", "ansible.builtin.file": {"path": f"/srv/app/shop/d{n}", "state": "directory"}} for n in range(12)]
tasks[7] = {"name": "install the unit", "ansible.builtin.copy": {"src": "files/app.service", "dest": "/srv/app/shop/app.service"}}
import json
open("site.yml", "w").write(json.dumps([{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]))
X
}
run() { ansible-playbook -i localhost, site.yml; }
