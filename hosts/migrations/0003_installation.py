"""One counter of tokens per installation, above every token that a host's lease had so far."""

import uuid

from django.db import migrations, models


def count_on(apps, schema_editor):
    leases = apps.get_model("hosts", "HostLease").objects
    highest = leases.aggregate(highest=models.Max("fence"))["highest"]
    if highest is not None:
        apps.get_model("hosts", "Installation").objects.create(pk=1, fence=highest)
    leases.filter(status="free").delete()  # a lease is a row only while something is held


class Migration(migrations.Migration):

    dependencies = [
        ('hosts', '0002_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Installation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False)),
                ('fence', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.AddConstraint(
            model_name='installation',
            constraint=models.CheckConstraint(condition=models.Q(('pk', 1)), name='hosts_installation_is_one'),
        ),
        migrations.RunPython(count_on, migrations.RunPython.noop),
    ]
