# tool: django, manage.py migrate
# how: 120 migrations with SQL in the log, one in the middle cannot be applied
# decisive: django.db.utils.IntegrityError: NOT NULL constraint failed: new__shop_order.vat
prepare() {
mkdir -p shop/migrations; touch shop/__init__.py shop/migrations/__init__.py
cat > settings.py <<'X'
SECRET_KEY = "x"
INSTALLED_APPS = ["shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite"}}
DEBUG = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
LOGGING = {"version": 1, "handlers": {"c": {"class": "logging.StreamHandler"}}, "loggers": {"django.db.backends": {"level": "DEBUG", "handlers": ["c"]}}}
X
python3 - <<'X'
head = "from django.db import migrations, models\n\n\nclass Migration(migrations.Migration):\n"
def write(n, name, body):
    before = f"('shop', '{names[-1]}')" if names else ""
    names.append(f"{n:04}_{name}")
    open(f"shop/migrations/{names[-1]}.py", "w").write(head + f"    dependencies = [{before}]\n    operations = [{body}]\n")
names = []
write(1, "initial", "migrations.CreateModel('Order', [('id', models.AutoField(primary_key=True)), ('error', models.IntegerField(default=0)), ('vat', models.IntegerField(null=True))]), migrations.RunSQL('insert into shop_order (error) values (1)')")
for n in range(2, 121):
    if n == 100:
        write(n, "vat_is_needed", "migrations.AlterField('Order', 'vat', models.IntegerField())")
    else:
        write(n, f"add_field_{n}", f"migrations.AddField('Order', 'field_{n}', models.IntegerField(default={n}))")
X
}
run() { DJANGO_SETTINGS_MODULE=settings PYTHONPATH=. python -m django migrate --noinput -v 3; }
