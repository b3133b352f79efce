# shutdownlint with helm and kustomize, for CI systems that run a container.
#   docker run --rm --volume "$PWD:/work" ghcr.io/shutdownlint/shutdownlint check .

FROM golang:1.26 AS tools
# Helm 3.16 and kustomize 5.5 are those that the tests render with.
RUN CGO_ENABLED=0 GOBIN=/tools go install helm.sh/helm/v3/cmd/helm@v3.16.4 \
    && CGO_ENABLED=0 GOBIN=/tools go install sigs.k8s.io/kustomize/kustomize/v5@v5.5.0

FROM python:3.13-slim AS package
WORKDIR /source
COPY pyproject.toml README.md LICENSE hatch_build.py ./
COPY src src
COPY rules rules
RUN python -m venv /opt/shutdownlint && /opt/shutdownlint/bin/pip install --no-cache-dir .

FROM python:3.13-slim
COPY --from=tools /tools/helm /tools/kustomize /usr/local/bin/
COPY --from=package /opt/shutdownlint /opt/shutdownlint
# A container starts with an empty cache.
ENV PATH=/opt/shutdownlint/bin:$PATH SHUTDOWNLINT_CACHE_DIR=
RUN useradd --uid 10001 --no-create-home shutdownlint
USER 10001
WORKDIR /work
ENTRYPOINT ["shutdownlint"]
CMD ["check", "."]
