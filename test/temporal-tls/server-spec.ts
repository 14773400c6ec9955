import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freePorts } from '../../deploy/local/free-ports.ts'
import type { ProcessSpec } from '../../deploy/local/supervisor.ts'

export interface TemporalServerOptions {
  readonly binary: string
  /** For its configuration and its databases. */
  readonly folder: string
  /** The frontend's port on the loopback interface. */
  readonly port: number
  /** What its stores are, as Temporal's `persistence.datastores`. Default: databases of SQLite, with one shard. */
  readonly stores?: { readonly main: object; readonly visibility: object; readonly shards: number }
  /** Files: the server's certificate, the authority that signed it, and the authority of the clients that the frontend lets in. */
  readonly tls?: {
    readonly certFile: string
    readonly keyFile: string
    readonly caFile: string
    readonly clientCaFile: string
  }
  /** Port of its metrics on the loopback interface. Default: it has none. */
  readonly metricsPort?: number
  /** Where the keys of tokens are served (JWKS). With it, callers need a token with a role: https://docs.temporal.io/self-hosted-guide/security */
  readonly jwksUri?: string
}

/**
 * The whole Temporal server, all services in one process. With `tls` it speaks TLS by itself, demands client certificates, and knows tokens where asked to;
 * the services speak mutual TLS among themselves as well. It has connections made again after 10 s, so that certificates are judged again soon.
 */
export async function temporalServerSpec(options: TemporalServerOptions): Promise<ProcessSpec> {
  const { folder, binary } = options
  await mkdir(folder, { recursive: true })
  const dynamic = join(folder, 'dynamic.yaml')
  const settings = {
    'frontend.keepAliveMaxConnectionAge': '10s',
    // For one shard.
    ...(options.stores === undefined && {
      'history.transferProcessorMaxPollRPS': 1000,
      'history.timerProcessorMaxPollRPS': 1000,
      'history.visibilityProcessorMaxPollRPS': 1000,
    }),
  }
  await writeFile(
    dynamic,
    stringify(Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, [{ value }]]))),
  )
  const config = join(folder, 'config.yaml')
  await writeFile(config, stringify(await configuration(options, dynamic)))
  const services = ['frontend', 'internal-frontend', 'history', 'matching', 'worker']
  return {
    name: 'temporal-server',
    command: binary,
    args: ['--config-file', config, 'start', ...services.flatMap((service) => ['--service', service])],
  }
}

async function configuration(
  { folder, port, tls, stores, metricsPort, jwksUri }: TemporalServerOptions,
  dynamic: string,
): Promise<object> {
  const names = ['frontend', 'internal-frontend', 'history', 'matching', 'worker']
  const ports = await freePorts(names.length * 2)
  const services = names.map((name, index) => [
    name,
    {
      rpc: {
        grpcPort: name === 'frontend' ? port : ports[index * 2],
        membershipPort: ports[index * 2 + 1],
        bindOnLocalHost: true,
      },
    },
  ])
  const { shards, ...datastores } = stores ?? {
    main: database(folder, 'main'),
    visibility: database(folder, 'visibility'),
    shards: 1,
  }
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'main',
      visibilityStore: 'visibility',
      numHistoryShards: shards,
      datastores,
    },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' },
      ...(metricsPort === undefined
        ? {}
        : { metrics: { prometheus: { listenAddress: `127.0.0.1:${metricsPort}`, timerType: 'histogram' } } }),
      ...(tls === undefined ? {} : { tls: encryption(tls) }),
      ...(jwksUri === undefined ? {} : { authorization: authorization(jwksUri) }),
    },
    services: Object.fromEntries(services),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: `localhost:${port}` },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    archival: { history: { state: 'disabled' }, visibility: { state: 'disabled' } },
    namespaceDefaults: { archival: { history: { state: 'disabled' }, visibility: { state: 'disabled' } } },
    dynamicConfigClient: { filepath: dynamic, pollInterval: '10s' },
  }
}

function authorization(jwksUri: string): object {
  return {
    jwtKeyProvider: { keySourceURIs: [jwksUri], refreshInterval: '1m' },
    permissionsClaimName: 'permissions',
    authorizer: 'default',
    claimMapper: 'default',
  }
}

function encryption({ certFile, keyFile, caFile, clientCaFile }: NonNullable<TemporalServerOptions['tls']>): object {
  const server = { certFile, keyFile, requireClientAuth: true }
  const client = { serverName: 'localhost', rootCaFiles: [caFile] }
  return {
    frontend: { server: { ...server, clientCaFiles: [clientCaFile] }, client },
    internode: { server: { ...server, clientCaFiles: [caFile] }, client },
    // Files that change are read again.
    refreshInterval: '2s',
  }
}

function database(folder: string, name: string): object {
  return {
    sql: {
      pluginName: 'sqlite',
      databaseName: join(folder, `${name}.db`),
      connectAddr: 'localhost',
      connectProtocol: 'tcp',
      connectAttributes: { mode: 'rwc', setup: 'true', journal_mode: 'wal', synchronous: 'off' },
      maxConns: 1,
      maxIdleConns: 1,
      maxConnLifetime: '24h',
    },
  }
}
