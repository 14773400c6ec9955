import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readTemporalSettings, type TemporalSettings } from '../../starter/temporal/settings.ts'
import type { LocalCluster } from './local-cluster.ts'
import type { ProcessSpec } from './supervisor.ts'

export interface TemporalOptions {
  /** `none`: whoever needs a Temporal starts one elsewhere, such as in the cluster. */
  readonly temporal?: 'none'
  /** Temporal keeps its database in memory: for load tests. */
  readonly temporalInMemory?: boolean
  /** More arguments of Temporal's development server, such as dynamic configuration. */
  readonly temporalArgs?: readonly string[]
  /** Clients of Temporal must use TLS and show a certificate. Default: whether JOINER_TEST_TEMPORAL_MTLS is 1. */
  readonly temporalMtls?: boolean
}

const demandsCertificates = ({ temporalMtls }: TemporalOptions) =>
  temporalMtls ?? process.env['JOINER_TEST_TEMPORAL_MTLS'] === '1'

/** Temporal's development server, and a proxy before it where clients must show a certificate: the server itself cannot demand one. */
export function temporalSpecs(cluster: LocalCluster, options: TemporalOptions): readonly ProcessSpec[] {
  if (options.temporal === 'none') return []
  return [serverSpec(cluster, options), ...(demandsCertificates(options) ? [proxySpec(cluster)] : [])]
}

/**
 * What a client of Temporal needs in its environment. Its profile is an empty one: that of the person who runs the cluster leads to another Temporal, and
 * has keys that are none of its business.
 */
export async function temporalEnvironment(
  { ports, pki, stateDir }: Pick<LocalCluster, 'ports' | 'pki' | 'stateDir'>,
  options: TemporalOptions,
): Promise<Readonly<Record<string, string>> & { readonly TEMPORAL_ADDRESS: string }> {
  const profile = join(stateDir, 'temporal.toml')
  await writeFile(profile, '[profile.default]\n')
  const common = { TEMPORAL_CONFIG_FILE: profile, TEMPORAL_PROFILE: 'default' }
  if (!demandsCertificates(options)) return { ...common, TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}` }
  return {
    ...common,
    // A name: in TLS an address is none.
    TEMPORAL_ADDRESS: `localhost:${ports.temporalTls}`,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: pki.caFile,
    TEMPORAL_TLS_CLIENT_CERT_PATH: pki.temporalClientCertFile,
    TEMPORAL_TLS_CLIENT_KEY_PATH: pki.temporalClientKeyFile,
  }
}

/** How the Temporal of a local cluster is reached. */
export function temporalSettings({ temporalEnv }: Pick<LocalCluster, 'temporalEnv'>): TemporalSettings {
  const read = readTemporalSettings(temporalEnv)
  if (read.kind === 'errors') throw new Error(read.errors.join('\n'))
  return read.settings
}

/**
 * How often one shard may read what it has to hand on. The default, 20 a second, is for servers with hundreds of shards, of which each has few of the
 * workflows; this server has one, and each step of each workflow would wait for up to 50 ms.
 */
const shardReads = ['transfer', 'timer', 'visibility'].flatMap((queue) => [
  '--dynamic-config-value',
  `history.${queue}ProcessorMaxPollRPS=1000`,
])

function serverSpec({ binaries, ports, stateDir }: LocalCluster, options: TemporalOptions): ProcessSpec {
  const database = options.temporalInMemory
    ? []
    : [
        '--db-filename',
        join(stateDir, 'temporal.db'),
        '--sqlite-pragma',
        'journal_mode=wal',
        '--sqlite-pragma',
        'synchronous=off',
      ]
  return {
    name: 'temporal',
    command: binaries.temporal,
    args: [
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--port',
      String(ports.temporal),
      '--ui-port',
      String(ports.temporalUi),
      '--log-level',
      'error',
      ...shardReads,
      ...database,
      ...(options.temporalArgs ?? []),
    ],
  }
}

function proxySpec({ ports, pki }: LocalCluster): ProcessSpec {
  const options = {
    port: String(ports.temporalTls),
    to: String(ports.temporal),
    cert: pki.serverCertFile,
    key: pki.serverKeyFile,
    'client-ca': pki.caFile,
  }
  return {
    name: 'temporal-tls',
    command: process.execPath,
    args: [
      fileURLToPath(new URL('./tls-proxy.ts', import.meta.url)),
      ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
    ],
  }
}
