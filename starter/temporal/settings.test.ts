import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Authority, type Issued } from '../../deploy/local/authority.ts'
import { fingerprint } from './credentials.ts'
import { readTemporalSettings, type TemporalSettings } from './settings.ts'

let folder: string
let authority: Authority
let client: Issued

const file = (name: string) => join(folder, name)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-settings-'))
  authority = await Authority.create('CN=ca')
  client = await authority.issue({ subject: 'CN=joiner', usages: ['clientAuth'] })
  const stranger = await authority.issue({ subject: 'CN=stranger', usages: ['clientAuth'] })
  const files = {
    'ca.crt': authority.cert,
    'tls.crt': client.cert,
    'tls.key': client.key,
    'stranger.key': stranger.key,
  }
  for (const [name, text] of Object.entries({ ...files, 'no.pem': 'hello', 'empty.toml': '', 'bad.toml': 'a = = b' }))
    await writeFile(file(name), text)
  await writeFile(
    file('profiles.toml'),
    `[profile.default]\naddress = "default:1"\n
[profile.cloud]\naddress = "cloud:7233"\nnamespace = "nodes"\napi_key = "from-file"\n[profile.cloud.grpc_meta]\nteam_name = "platform"\n
[profile.mtls]\naddress = "inside:7233"\n[profile.mtls.tls]\nserver_name = "temporal"\nserver_ca_cert_path = "${file('ca.crt')}"
client_cert_path = "${file('tls.crt')}"\nclient_key_path = "${file('tls.key')}"\n
[profile.half.tls]\nclient_cert_path = "${file('tls.crt')}"\n`,
  )
})

afterAll(() => rm(folder, { recursive: true }))

type Environment = Readonly<Record<string, string>>

function read(env: Environment, overrides = {}): TemporalSettings {
  // The profile of who runs the tests is none of their business.
  const result = readTemporalSettings({ TEMPORAL_CONFIG_FILE: file('profiles.toml'), ...env }, overrides)
  if (result.kind === 'errors') throw new Error(result.errors.join('\n'))
  return result.settings
}

function errorsOf(env: Environment): string {
  const result = readTemporalSettings({ TEMPORAL_CONFIG_FILE: file('profiles.toml'), ...env })
  return result.kind === 'errors' ? result.errors.join('\n') : 'no error'
}

const address = { TEMPORAL_ADDRESS: 'temporal:7233' }
const certificates = () => ({
  ...address,
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('ca.crt'),
  TEMPORAL_TLS_CLIENT_CERT_PATH: file('tls.crt'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: file('tls.key'),
})

describe('where Temporal is', () => {
  test.each<[string, Environment, object, { address: string; namespace: string }]>([
    ['an address alone', address, {}, { address: 'temporal:7233', namespace: 'default' }],
    ['a namespace', { ...address, TEMPORAL_NAMESPACE: 'n' }, {}, { address: 'temporal:7233', namespace: 'n' }],
    ['empty variables count as unset', { TEMPORAL_ADDRESS: '' }, {}, { address: 'default:1', namespace: 'default' }],
    ['a profile', { TEMPORAL_PROFILE: 'cloud' }, {}, { address: 'cloud:7233', namespace: 'nodes' }],
    [
      'variables come before the profile',
      { ...address, TEMPORAL_PROFILE: 'cloud' },
      {},
      { address: 'temporal:7233', namespace: 'nodes' },
    ],
    [
      'options come before all',
      { ...address, TEMPORAL_NAMESPACE: 'n' },
      { address: 'x:1', namespace: 'y' },
      { address: 'x:1', namespace: 'y' },
    ],
  ])('%s', (_what, env, overrides, expected) => expect(read(env, overrides)).toMatchObject(expected))
})

describe('how it is connected to', () => {
  test.each<[string, () => Environment, object]>([
    ['without TLS', () => address, { tls: false }],
    ['TLS alone', () => ({ ...address, TEMPORAL_TLS: 'true' }), { tls: {} }],
    ['an API key turns TLS on', () => ({ ...address, TEMPORAL_API_KEY: 'k' }), { tls: true, apiKey: 'k' }],
    [
      'an API key where TLS is off',
      () => ({ ...address, TEMPORAL_API_KEY: 'k', TEMPORAL_TLS: 'false' }),
      { tls: false, apiKey: 'k' },
    ],
    ['certificates switched off', () => ({ ...certificates(), TEMPORAL_TLS: '0' }), { tls: false }],
    [
      'a server name',
      () => ({ ...certificates(), TEMPORAL_TLS_SERVER_NAME: 's' }),
      { tls: { serverNameOverride: 's' } },
    ],
    [
      'headers',
      () => ({ ...address, TEMPORAL_GRPC_META_X_TEAM_NAME: 'platform' }),
      { metadata: { 'x-team-name': 'platform' } },
    ],
    [
      'an empty header removes that of the profile',
      () => ({ TEMPORAL_PROFILE: 'cloud', TEMPORAL_GRPC_META_TEAM_NAME: '' }),
      { metadata: {}, apiKey: 'from-file' },
    ],
  ])('%s', (_what, env, expected) => expect(read(env()).load()).toMatchObject(expected))

  test.each(['by files', 'by text', 'by a profile'])('certificates %s', (how) => {
    const data = {
      ...address,
      TEMPORAL_TLS_SERVER_CA_CERT_DATA: authority.cert,
      TEMPORAL_TLS_CLIENT_CERT_DATA: client.cert,
      TEMPORAL_TLS_CLIENT_KEY_DATA: client.key,
    }
    const env = how === 'by files' ? certificates() : how === 'by text' ? data : { TEMPORAL_PROFILE: 'mtls' }
    const { tls } = read(env).load()
    if (typeof tls !== 'object') throw new Error('no TLS')
    expect(Buffer.from(tls.serverRootCACertificate ?? []).toString()).toBe(authority.cert)
    expect(Buffer.from(tls.clientCertPair?.crt ?? []).toString()).toBe(client.cert)
    expect(Buffer.from(tls.clientCertPair?.key ?? []).toString()).toBe(client.key)
  })

  test('files that change are read again, and change the fingerprint', async () => {
    const copy = file('rotated.crt')
    const key = file('rotated.key')
    await writeFile(copy, client.cert)
    await writeFile(key, client.key)
    const env = { ...certificates(), TEMPORAL_TLS_CLIENT_CERT_PATH: copy, TEMPORAL_TLS_CLIENT_KEY_PATH: key }
    const settings = read(env)
    const before = fingerprint(settings.load())
    expect(fingerprint(settings.load())).toBe(before)
    const next = await authority.issue({ subject: 'CN=joiner', usages: ['clientAuth'] })
    await writeFile(copy, next.cert)
    // Half of a rotation is not used.
    expect(() => settings.load()).toThrow(`"${key}": is not the key of TEMPORAL_TLS_CLIENT_CERT_PATH "${copy}"`)
    await writeFile(key, next.key)
    expect(fingerprint(settings.load())).not.toBe(before)
  })
})

describe('what is wrong is named with its variable, value and remedy', () => {
  test.each<[string, () => Environment, string]>([
    ['no address', () => ({ TEMPORAL_PROFILE: 'half-not' }), "Profile 'half-not' not found"],
    [
      'a profile without an address',
      () => ({ TEMPORAL_CONFIG_FILE: file('profiles.toml'), TEMPORAL_PROFILE: 'half' }),
      'TEMPORAL_TLS_CLIENT_KEY_PATH: is missing',
    ],
    [
      'a switch in other words',
      () => ({ ...address, TEMPORAL_TLS: 'yes' }),
      'TEMPORAL_TLS "yes": is not a switch; use true or false',
    ],
    [
      'verification switched off',
      () => ({ ...address, TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: 'true' }),
      'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION "true": is not supported',
    ],
    [
      'a certificate without a key',
      () => ({ ...address, TEMPORAL_TLS_CLIENT_CERT_PATH: file('tls.crt') }),
      'TEMPORAL_TLS_CLIENT_KEY_PATH: is missing: TEMPORAL_TLS_CLIENT_CERT is set',
    ],
    [
      'a file and its text',
      () => ({ ...certificates(), TEMPORAL_TLS_CLIENT_KEY_DATA: 'k' }),
      'TEMPORAL_TLS_CLIENT_KEY_DATA: only one of both may be set',
    ],
    [
      'no profile file',
      () => ({ ...address, TEMPORAL_CONFIG_FILE: '/nowhere.toml' }),
      'TEMPORAL_CONFIG_FILE "/nowhere.toml": there is no such file',
    ],
    [
      'an empty profile file',
      () => ({ ...address, TEMPORAL_CONFIG_FILE: file('empty.toml') }),
      'it holds no table [profile.NAME]',
    ],
    [
      'a profile file that is no TOML',
      () => ({ ...address, TEMPORAL_CONFIG_FILE: file('bad.toml') }),
      'cannot be read: Invalid TOML',
    ],
  ])('%s', (_what, env, expected) => expect(errorsOf(env())).toContain(expected))

  test.each<[string, Environment, string]>([
    [
      'a file that is missing',
      { TEMPORAL_TLS_CLIENT_KEY_PATH: '/nowhere.key' },
      'TEMPORAL_TLS_CLIENT_KEY_PATH "/nowhere.key": cannot be read (ENOENT)',
    ],
    ['no certificate', { TEMPORAL_TLS_SERVER_CA_CERT_PATH: 'no.pem' }, 'no.pem": is not a certificate in PEM'],
    ['no key', { TEMPORAL_TLS_CLIENT_KEY_PATH: 'no.pem' }, 'no.pem": is not a private key without a passphrase in PEM'],
    [
      'the key of another certificate',
      { TEMPORAL_TLS_CLIENT_KEY_PATH: 'stranger.key' },
      'is not the key of TEMPORAL_TLS_CLIENT_CERT_PATH',
    ],
  ])('%s, when it is read', (_what, env, expected) => {
    const paths = Object.entries(env).map(([name, path]) => [name, path.startsWith('/') ? path : file(path)])
    expect(() => read({ ...certificates(), ...Object.fromEntries(paths) }).load()).toThrow(expected)
  })

  test('a text that is no key is not printed', () => {
    const env = { ...address, TEMPORAL_TLS_CLIENT_CERT_DATA: client.cert, TEMPORAL_TLS_CLIENT_KEY_DATA: 'top secret' }
    expect(() => read(env).load()).toThrow(/^(?!.*top secret).*TEMPORAL_TLS_CLIENT_KEY_DATA: is not a private key/)
  })

  test('an API key without TLS is warned of', () => {
    const result = readTemporalSettings({
      ...address,
      TEMPORAL_CONFIG_FILE: file('profiles.toml'),
      TEMPORAL_API_KEY: 'k',
      TEMPORAL_TLS: 'false',
    })
    expect(result.kind === 'settings' && result.warnings.join()).toContain('is sent without encryption')
  })
})
