from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0002_longer_phase"),
    ]

    operations = [
        migrations.AlterField(
            model_name="level",
            name="state",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("running", "Running"),
                    ("done", "Done"),
                    ("cut", "Cut"),
                ],
                default="pending",
                max_length=10,
            ),
        ),
    ]
