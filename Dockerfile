# The judge service. Build: docker build -t stepjudge .
# Run:   docker run --read-only --tmpfs /tmp -p 8262:8262 -v stepjudge:/data -e STEPJUDGE_API_KEYS='{…}' stepjudge
# (`stepjudge key NAME` makes a key; without one the service refuses to listen beyond loopback.)
# Two replicas with shared stores: compose.yaml.

FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements/service.lock requirements/build.lock requirements/
RUN python -m venv /opt/stepjudge \
    && /opt/stepjudge/bin/pip install --no-cache-dir --require-hashes -r requirements/service.lock
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY client client
COPY judge_service judge_service
COPY rubrics rubrics
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/stepjudge/bin/pip install --no-cache-dir --no-deps dist/*.whl \
    && /opt/stepjudge/bin/python -m compileall -q /opt/stepjudge/lib

FROM python:3.11-slim
RUN useradd --system --uid 10001 --no-create-home --home-dir /data stepjudge && install -d -m 0700 -o stepjudge /data
COPY --from=build /opt/stepjudge /opt/stepjudge
ENV PATH=/opt/stepjudge/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    LITELLM_LOCAL_MODEL_COST_MAP=True \
    STEPJUDGE_DATA_DIR=/data \
    STEPJUDGE_HOST=0.0.0.0
USER stepjudge
VOLUME /data
EXPOSE 8262
# ready, or degraded and still answering; SIGTERM drains for STEPJUDGE_GRACE_S (25 s): stop with a longer time-out
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8262/readyz', timeout=2)"]
ENTRYPOINT ["stepjudge"]
CMD ["serve"]
