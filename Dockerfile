# One image for web, worker, conductor and migrations; docker-compose.yml says which is which.
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 THROUGHLINE_VAR=/srv/var
WORKDIR /srv/throughline

COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt

COPY manage.py pyproject.toml ./
COPY webapp webapp
COPY people people
COPY hosts hosts
COPY runs runs
COPY templates templates
COPY static static
# Static files are part of the image; the key is for this one command.
RUN SECRET_KEY=only-while-the-image-is-built-only-while-the-image-is-built \
    python manage.py collectstatic --noinput \
    && useradd --system --home-dir /srv/var throughline \
    && mkdir -p /srv/var/pending && chmod 700 /srv/var/pending \
    && chown -R throughline /srv/var
USER throughline
EXPOSE 8000
