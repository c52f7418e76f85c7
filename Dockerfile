# The server or the gateway in a container:
#
#   docker build -t faultwire .
#   docker run --rm -p 127.0.0.1:8940:8940 -v faultwire:/var/lib/faultwire faultwire
#
# The last stage has the program and the libraries that it loads: no shell, no package
# manager. It runs as a user without rights.

FROM debian:13-slim AS build
WORKDIR /src
COPY . .
RUN apt-get update && apt-get install -y --no-install-recommends make \
    && scripts/install-deps build \
    && scripts/setup-build build gcc --buildtype=debugoptimized -Dtests=disabled \
    && ninja -C build faultwire \
    && mkdir -p /out/usr/bin /out/var/lib/faultwire /out/tmp /out/etc/ssl/certs \
    && install -s build/faultwire /out/usr/bin/ \
    && deploy/docker/copy-libraries /out /out/usr/bin/faultwire \
    && printf 'faultwire:x:10001:10001::/var/lib/faultwire:/none\n' > /out/etc/passwd \
    && printf 'faultwire:x:10001:\n' > /out/etc/group \
    && chown 10001:10001 /out/var/lib/faultwire && chmod 1777 /out/tmp

FROM scratch
COPY --from=build /out /
USER 10001:10001
ENV XDG_STATE_HOME=/var/lib HOME=/var/lib/faultwire
VOLUME /var/lib/faultwire
EXPOSE 8940
HEALTHCHECK --interval=30s --timeout=3s CMD ["/usr/bin/faultwire", "call", "--retry", "off", "--timeout", "2", "http://127.0.0.1:8940/mcp"]
ENTRYPOINT ["/usr/bin/faultwire"]
# Port 8940 is reachable from outside the container, so a token is required: mount it.
CMD ["serve", "--http", "0.0.0.0:8940", "--tools", "diag", "--token-file", "/run/secrets/faultwire_token"]
