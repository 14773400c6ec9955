import { existsSync } from 'node:fs'
import { loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig'
import { type ConnectOptions, checkTls, TemporalFileError } from './credentials.ts'
import { type KeyRing, readKeyRing } from './encryption.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** How Joiner reaches Temporal. */
export interface TemporalSettings {
  /** host:port of the frontend. */
  readonly address: string
  readonly namespace: string
  /**
   * Reads the address, TLS certificates and credentials, from files again with each call, so that rotated files are seen.
   * Errors: `TemporalFileError` when a file cannot be read or does not hold what it should.
   */
  readonly load: () => ConnectOptions
  /** Keys that payloads are encrypted with. Unset when payloads are not encrypted. */
  readonly keys?: KeyRing
}

export type TemporalSettingsResult =
  | { readonly kind: 'settings'; readonly settings: TemporalSettings; readonly warnings: readonly string[] }
  | { readonly kind: 'errors'; readonly errors: readonly string[] }

/** What the command line overrides. */
export interface TemporalOverrides {
  readonly address?: string | undefined
  readonly namespace?: string | undefined
  /** Reads no profile but that of a file that the environment names: the address is not the user's own, and the keys of their profile are not for it. */
  readonly isForeign?: boolean
}

/**
 * Reads the settings of every connection to Temporal from the environment and the profile that it names, with Temporal's own names
 * (https://docs.temporal.io/develop/environment-configuration). An empty variable counts as unset. All errors are returned at once, each with the
 * variable, its value and the remedy. The content of certificate files is checked by `load`.
 */
export function readTemporalSettings(given: Environment, overrides: TemporalOverrides = {}): TemporalSettingsResult {
  const env = withoutEmpty(given, overrides)
  const keys = readKeyRing(env)
  const errors = [...switchErrors(env), ...pairErrors(env), ...(keys.kind === 'errors' ? keys.errors : [])]
  const disableFile = overrides.isForeign === true && env['TEMPORAL_CONFIG_FILE'] === undefined
  const profile = errors.length === 0 ? readProfile(env, disableFile) : undefined
  if (profile?.kind === 'error') errors.push(profile.error)
  const address = profile?.kind === 'profile' ? profile.profile.address : undefined
  if (profile?.kind === 'profile' && address === undefined)
    errors.push(
      'environment variable TEMPORAL_ADDRESS: is missing: set it to host:port of the Temporal frontend, or `address` in the profile of TEMPORAL_CONFIG_FILE',
    )
  if (profile?.kind !== 'profile' || address === undefined || errors.length > 0) return { kind: 'errors', errors }
  const { namespace = 'default' } = profile.profile
  const settings = {
    address,
    namespace,
    load: () => connectOptions(env, disableFile),
    ...(keys.kind === 'keys' ? { keys: keys.keys } : {}),
  }
  return { kind: 'settings', settings, warnings: warningsOf(profile.profile) }
}

type Profile = ReturnType<typeof loadClientConfigProfile>

function withoutEmpty(given: Environment, { address, namespace }: TemporalOverrides): Record<string, string> {
  const env: Record<string, string> = {}
  // An empty header removes that of the profile, as in all of Temporal's tools.
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && (value !== '' || name.startsWith('TEMPORAL_GRPC_META_'))) env[name] = value
  if (address !== undefined && address !== '') env['TEMPORAL_ADDRESS'] = address
  if (namespace !== undefined && namespace !== '') env['TEMPORAL_NAMESPACE'] = namespace
  return env
}

/** Temporal's library takes every word but "true" and "1" for "false", which would turn TLS off. */
function switchErrors(env: Environment): string[] {
  const errors: string[] = []
  const tls = env['TEMPORAL_TLS']
  if (tls !== undefined && !['true', 'false', '1', '0'].includes(tls))
    errors.push(`environment variable TEMPORAL_TLS "${tls}": is not a switch; use true or false`)
  const unverified = env['TEMPORAL_TLS_DISABLE_HOST_VERIFICATION']
  if (unverified !== undefined && !['false', '0'].includes(unverified))
    errors.push(
      `environment variable TEMPORAL_TLS_DISABLE_HOST_VERIFICATION "${unverified}": is not supported, the server is always verified; remove it, and name the server by TEMPORAL_TLS_SERVER_NAME and its authority by TEMPORAL_TLS_SERVER_CA_CERT_PATH`,
    )
  return errors
}

/** A setting that may be a file or the text itself is one of both. */
function pairErrors(env: Environment): string[] {
  return ['CLIENT_CERT', 'CLIENT_KEY', 'SERVER_CA_CERT'].flatMap((name) => {
    const [path, data] = [`TEMPORAL_TLS_${name}_PATH`, `TEMPORAL_TLS_${name}_DATA`]
    if (env[path] === undefined || env[data] === undefined) return []
    return [`environment variables ${path} "${env[path]}" and ${data}: only one of both may be set; remove one`]
  })
}

type ProfileResult =
  | { readonly kind: 'profile'; readonly profile: Profile }
  | { readonly kind: 'error'; readonly error: string }

function readProfile(env: Record<string, string>, disableFile: boolean): ProfileResult {
  const file = env['TEMPORAL_CONFIG_FILE']
  const named = file === undefined ? 'the profile file' : `TEMPORAL_CONFIG_FILE "${file}"`
  // The library takes a missing file for an empty one.
  if (file !== undefined && !existsSync(file))
    return {
      kind: 'error',
      error: `environment variable ${named}: there is no such file; correct the path, or unset it`,
    }
  try {
    const profile = loadClientConfigProfile({ overrideEnvVars: env, disableFile })
    const { clientCert, clientKey } = profile.tls ?? {}
    if ((clientCert === undefined) !== (clientKey === undefined)) {
      const [there, missing] = clientCert === undefined ? ['KEY', 'CERT'] : ['CERT', 'KEY']
      const error = `environment variable TEMPORAL_TLS_CLIENT_${missing}_PATH: is missing: TEMPORAL_TLS_CLIENT_${there} is set, and a client certificate works with its key only; set both`
      return { kind: 'error', error }
    }
    return { kind: 'profile', profile }
  } catch (error) {
    const profile = env['TEMPORAL_PROFILE']
    const said =
      error instanceof TypeError ? 'it holds no table [profile.NAME]' : (error as Error).message.split('\n')[0]
    return {
      kind: 'error',
      error: `${named}, profile "${profile ?? 'default'}": cannot be read: ${said}; correct the file, or TEMPORAL_PROFILE`,
    }
  }
}

function warningsOf({ apiKey, tls }: Profile): readonly string[] {
  return apiKey !== undefined && tls?.disabled === true
    ? [
        'TEMPORAL_API_KEY is sent without encryption, since TEMPORAL_TLS is off; whoever reads the network has it. Turn TLS on',
      ]
    : []
}

function connectOptions(env: Record<string, string>, disableFile: boolean): ConnectOptions {
  const profile = readProfile(env, disableFile)
  if (profile.kind === 'error') throw new TemporalFileError(profile.error)
  const { tls, grpcMeta, apiKey, address } = profile.profile
  checkTls(tls)
  const { connectionOptions } = toClientOptions(profile.profile)
  return {
    address: address ?? '',
    tls: connectionOptions.tls ?? false,
    ...(apiKey === undefined ? {} : { apiKey }),
    metadata: withHyphens(grpcMeta),
    ...(tls?.clientCert !== undefined && 'path' in tls.clientCert ? { certificateFile: tls.clientCert.path } : {}),
  }
}

/** Names of headers have hyphens where names of variables have underscores; the library replaces the first one only. */
function withHyphens(meta: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(meta).map(([name, value]) => [name.replaceAll('_', '-'), value]))
}
