import { describe, expect, it } from 'vitest'
import { serveAnnotation, servingPatch } from './custom-resources.ts'

const name = 'nodeclaims.karpenter.sh'
const here = { service: { name: 'joiner-conversion' } }
const secret = (annotations: unknown) => ({ metadata: { name: 'joiner-conversion', annotations } })
const asked = secret({ [serveAnnotation]: 'true' })
const refused = secret({ [serveAnnotation]: 'false' })

function crd(
  served: boolean,
  {
    clientConfig = here,
    storage = false,
    old = 'v1beta1',
  }: { readonly clientConfig?: object; readonly storage?: boolean; readonly old?: string } = {},
) {
  const versions = [
    { name: 'v1', served: true, storage: !storage },
    { name: old, served, storage },
  ]
  return { spec: { conversion: { strategy: 'Webhook', webhook: { clientConfig } }, versions } }
}

const serves = (value: boolean) => [
  { op: 'test', path: '/spec/versions/1/name', value: 'v1beta1' },
  { op: 'replace', path: '/spec/versions/1/served', value },
]

describe('what is served of NodeClaims', () => {
  it.each([
    ['asked for', asked, false, serves(true)],
    ['asked for, and it is', asked, true, undefined],
    ['not asked for', refused, true, serves(false)],
    ['not asked for, and it is not', refused, false, undefined],
    ['not known to an older chart', secret(undefined), true, serves(false)],
    ['asked for in other words', secret({ [serveAnnotation]: 'yes' }), true, serves(false)],
    ['in a Secret without metadata', {}, true, serves(false)],
  ])('is v1beta1 when it is %s', (_, from, served, patch) => {
    expect(servingPatch(name, crd(served), from)).toEqual(patch)
  })

  it('is changed where the API server calls a URL, too', () => {
    expect(servingPatch(name, crd(false, { clientConfig: { url: 'https://localhost:1/x' } }), asked)).toEqual(
      serves(true),
    )
  })

  it.each([
    ['another kind', 'nodepools.karpenter.sh', crd(true)],
    ['a CRD that somebody else converts', name, crd(true, { clientConfig: { service: { name: 'karpenter' } } })],
    ['a CRD that is not converted', name, { spec: { ...crd(true).spec, conversion: { strategy: 'None' } } }],
    ['a version that is stored', name, crd(true, { storage: true })],
    ['a CRD without that version', name, crd(true, { old: 'v1alpha5' })],
    ['a CRD without versions', name, { spec: { conversion: crd(true).spec.conversion } }],
    ['a CRD without anything', name, {}],
  ])('stays for %s', (_, of, found) => {
    expect(servingPatch(of, found, refused)).toBeUndefined()
  })
})
