import { describe, expect, test } from 'vitest'
import { isConvertedByJoiner, releasedSpec, wantedSpec } from '../shared/crd-release.ts'

const conversion = (clientConfig: object) => ({ strategy: 'Webhook', webhook: { clientConfig } })
const versions = (served: boolean, more: object = {}) => [
  { name: 'v1', served: true, ...more },
  { name: 'v1beta1', served },
]
const manifest = {
  spec: {
    group: 'karpenter.sh',
    conversion: conversion({ service: { namespace: 'joiner', name: 'joiner-conversion', path: '/convert' } }),
    versions: versions(false, { columns: 2 }),
  },
}

describe('the spec that a CRD is to have', () => {
  test('where it is missing, or converted by nobody: that of the manifest, in the namespace of the installation', () => {
    const placed = {
      ...manifest.spec,
      conversion: conversion({ service: { namespace: 'nodes', name: 'joiner-conversion', path: '/convert' } }),
    }
    expect(wantedSpec(manifest, undefined, 'nodes')).toEqual(placed)
    expect(wantedSpec(manifest, { spec: { conversion: { strategy: 'None' } } }, 'nodes')).toEqual(placed)
    expect(manifest.spec.conversion.webhook.clientConfig).toMatchObject({ service: { namespace: 'joiner' } })
  })

  test.each([
    ['a Service', { service: { namespace: 'nodes', name: 'joiner-conversion', path: '/convert/0' }, caBundle: 'QQ==' }],
    ['a URL', { url: 'https://localhost:1/convert/0', caBundle: 'QQ==' }],
  ])('where Joiner converts it at %s: place, authority and served versions stay', (_at, clientConfig) => {
    const installed = { spec: { conversion: conversion(clientConfig), versions: versions(true, { columns: 1 }) } }
    expect(wantedSpec(manifest, installed, 'nodes')).toEqual({
      ...manifest.spec,
      conversion: conversion(clientConfig),
      versions: versions(true, { columns: 2 }),
    })
  })

  test('where somebody else converts it: Joiner does', () => {
    const others = { spec: { conversion: conversion({ service: { namespace: 'karpenter', name: 'karpenter' } }) } }
    expect(isConvertedByJoiner(others)).toBe(false)
    expect(wantedSpec(manifest, others, 'nodes')['conversion']).toMatchObject({
      webhook: { clientConfig: { service: { namespace: 'nodes' } } },
    })
  })

  test('without old versions: that of the manifest', () => {
    const plain = { spec: { group: 'autoscaling.x-k8s.io', versions: [{ name: 'v1beta1', served: true }] } }
    expect(wantedSpec(plain, { spec: { versions: [{ name: 'v1beta1', served: false }] } }, 'nodes')).toEqual(plain.spec)
  })
})

test('a CRD that is released is converted by nobody, and its old version is not served', () => {
  expect(releasedSpec({ spec: { ...manifest.spec, versions: versions(true) } })).toEqual({
    ...manifest.spec,
    conversion: { strategy: 'None' },
    versions: versions(false),
  })
})
