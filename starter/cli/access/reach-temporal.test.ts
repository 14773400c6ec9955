import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readTemporalSettings } from '../../temporal/settings.ts'
import { reachTemporal } from './reach-temporal.ts'

describe('what the caller keeps secret', () => {
  let home: string

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'home-'))
    const folder = join(home, '.config', 'temporalio')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'temporal.toml'), '[profile.default]\naddress = "own:7233"\napi_key = "secret"\n')
    vi.stubEnv('HOME', home)
    vi.stubEnv('XDG_CONFIG_HOME', join(home, '.config'))
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    rmSync(home, { recursive: true })
  })

  it('is not for an address that comes from a cluster', () => {
    const env = { HOME: home, TEMPORAL_ADDRESS: 'of-the-cluster:7233' }
    const read = readTemporalSettings(env, { isForeign: true })
    expect(read.kind === 'settings' && read.settings.load()).toMatchObject({
      address: 'of-the-cluster:7233',
      tls: false,
    })
    expect(read.kind === 'settings' && read.settings.load()).not.toHaveProperty('apiKey')
    // The same without a cluster: the address is the caller's own word.
    const own = readTemporalSettings(env)
    expect(own.kind === 'settings' && own.settings.load()).toMatchObject({ apiKey: 'secret' })
  })

  it.each(['TEMPORAL_API_KEY', 'TEMPORAL_GRPC_META_AUTHORIZATION', 'TEMPORAL_PROFILE'])(
    'in %s keeps the command from asking a cluster where Temporal is',
    async (name) => {
      const env = { [name]: 'x' }
      // Nothing could be read from there: there is no such kubeconfig.
      const reach = await reachTemporal({ joinerNamespace: 'joiner', kubeconfig: join(home, 'none') }, env)
      expect(reach).toMatchObject({ env, isForeign: false })
    },
  )
})
