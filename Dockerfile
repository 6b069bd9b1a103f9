# The official PostgreSQL image, with hilo:
#
#   docker build --build-arg POSTGRES=17 -t postgres-hilo .
#   docker run -e POSTGRES_PASSWORD=secret -p 5432:5432 postgres-hilo
#
# "sh test/check.sh --all" builds it where Docker is there.
ARG POSTGRES=17

FROM postgres:${POSTGRES} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends make gcc libc6-dev postgresql-server-dev-$PG_MAJOR
COPY . /hilo
RUN make -C /hilo PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config clean all \
    && make -C /hilo PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config DESTDIR=/installed install \
    && mkdir /extension \
    && cp -r /installed/usr/share/postgresql/$PG_MAJOR /extension/share \
    && cp -r /installed/usr/lib/postgresql/$PG_MAJOR/lib /extension/lib

# The extension's files alone, as operators such as CloudNativePG mount them into a server:
#   docker build --target extension -t hilo-extension .
FROM scratch AS extension
COPY --from=build /extension /

FROM postgres:${POSTGRES}
COPY --from=build /installed /
