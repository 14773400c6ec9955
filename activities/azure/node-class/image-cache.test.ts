import { describe, expect, it, vi } from 'vitest'
import type { NoteFaults } from '../../../api/kept/document.ts'
import { goldenConfig } from '../../../test/vectors/golden-cases.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import { cachedImages } from './image-cache.ts'
import { newestImages } from './image-versions.ts'
import { imageDefinitions } from './images.ts'
import type { ImagesStatusDeps } from './images-status.ts'

const config = goldenConfig('westus2', {
  nodeResourceGroup: 'rg',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
})
const definitions = imageDefinitions({ imageFamily: 'Ubuntu2404', fips: false, trustedLaunch: false }, 'Ubuntu2404')
const day = 24 * 3_600_000

/** Galleries whose newest version can be set, a ConfigMap that is there or not, and a clock. */
function setup() {
  const state = { now: 0, version: '1', lists: 0, data: undefined as Record<string, string> | undefined }
  const list = async function* (_location: string, _gallery: string, definition: string) {
    state.lists += 1
    // The third definition has no version.
    if (state.version !== '' && !definition.includes('arm64'))
      yield { name: state.version, publishedDate: new Date(state.now) }
  }
  const merged = (entries: Record<string, string | null>) => {
    const all = { ...state.data, ...entries }
    state.data = Object.fromEntries(
      Object.entries(all).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
    )
    return {}
  }
  const missing = () => {
    if (state.data === undefined) throw new ApiError(404, 'NotFound', 'configmaps "joiner-image-versions" not found')
  }
  const client = {
    get: async () => {
      missing()
      return { data: state.data }
    },
    mergePatch: async (_path: string, body: { data: Record<string, string | null> }) => {
      missing()
      return merged(body.data)
    },
    create: async (_path: string, body: { data: Record<string, string> }) => merged(body.data),
  }
  const azure = { compute: { communityGalleryImageVersions: { list } } }
  const note = vi.fn<NoteFaults>()
  const deps = { azure, client, config, namespace: 'joiner', note, now: () => state.now } as unknown as ImagesStatusDeps
  const versions = async (kubernetesVersion = '1.34.0') =>
    (await cachedImages(deps, definitions, kubernetesVersion)).map(({ id }) => id.split('/').slice(4).join('/'))
  return { state, versions, note }
}

const at = (version: string) => [`2404gen2containerd/versions/${version}`, `2404containerd/versions/${version}`]

describe('the floor of node images', () => {
  const now = Date.UTC(2026, 3, 10)
  const day = 24 * 3_600_000
  it.each<[string, { readonly minVersion: string; readonly minAgeMs: number } | undefined, string | undefined]>([
    ['takes any without one', undefined, '202604.09.0'],
    ['takes what is not older than the version', { minVersion: '202604.09.0', minAgeMs: 0 }, '202604.09.0'],
    ['takes nothing that is older', { minVersion: '202605.01.0', minAgeMs: 0 }, undefined],
    ['waits until an image has its age', { minVersion: '', minAgeMs: 3 * day }, '202604.01.0'],
  ])('%s', async (_, imageFloor, expected) => {
    const list = async function* () {
      for (const name of ['202604.01.0', '202604.09.0'])
        yield { name, publishedDate: new Date(Date.UTC(2026, 3, Number(name.slice(7, 9)))) }
    }
    const own = imageFloor === undefined ? config : { ...config, imageFloor }
    const azure = { compute: { communityGalleryImageVersions: { list } } } as never
    const [found] = await newestImages({ azure, config: own, now: () => now }, definitions)
    expect(found?.id.split('/').at(-1)).toBe(expected)
  })
})

describe('images that were found', () => {
  it('stay for three days, whatever is published', async () => {
    const { state, versions } = setup()
    expect(await versions()).toEqual(at('1'))
    state.version = '2'
    state.now = 3 * day - 1
    expect(await versions()).toEqual(at('1'))
    expect(state.lists).toBe(3)
    state.now = 3 * day
    expect(await versions()).toEqual(at('2'))
  })

  it('are read again for another version of Kubernetes, and when a user deletes them', async () => {
    const { state, versions } = setup()
    await versions()
    state.version = '2'
    expect(await versions('1.34.1+build/7')).toEqual(at('2'))
    expect(Object.keys(state.data ?? {}).every((key) => /^[-._a-zA-Z0-9]+$/.test(key))).toBe(true)
    state.data = undefined
    expect(await versions()).toEqual(at('2'))
  })

  it('are not kept when there are none, nor longer than they are valid', async () => {
    const { state, versions } = setup()
    state.version = ''
    expect(await versions()).toEqual([])
    expect(state.data).toBeUndefined()
    state.version = '1'
    await versions()
    state.now = 3 * day
    await versions('1.35.0')
    expect(Object.keys(state.data ?? {})).toEqual(['community.2404gen2containerd.1.35.0'])
  })

  it.each(['', '{', '{"readAt":"2026-01-01T00:00:00Z"}', '{"readAt":"1970-01-01T00:00:00Z","images":{}}'])(
    'are searched again when their entry says nothing: %s',
    async (entry) => {
      const { state, versions, note } = setup()
      const key = 'community.2404gen2containerd.1.34.0'
      state.data = { [key]: entry }
      expect(await versions()).toEqual(at('1'))
      const isNamed = note.mock.calls.some(([, faults]) => faults[0]?.key === key)
      expect(isNamed).toBe(!entry.includes('images'))
    },
  )
})
