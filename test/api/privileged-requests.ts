import type { AdmissionRequest } from '../../api/rules/admission.ts'
import type { Operator } from '../../deploy/local/operator.ts'
import { chosenKubernetes } from '../../deploy/local/server-binaries.ts'

type Json = Readonly<Record<string, unknown>>

/** What is asked, and whether the chart's policies deny it. */
export type PrivilegedRequest = readonly [what: string, request: AdmissionRequest, isDenied: boolean]

interface Stored extends Json {
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

interface Crd extends Stored {
  readonly spec: Json & { readonly conversion: { readonly webhook: Json }; readonly versions: readonly Json[] }
}

const account = (name: string) => ({ username: `system:serviceaccount:joiner:${name}` })
const provider = account('joiner-azure')
const conversion = account('joiner-conversion')
const person = { username: '' }

const encoded = (text: string) => Buffer.from(text).toString('base64')

const tokenData = {
  expiration: encoded('2030-01-01T00:00:00Z'),
  'auth-extra-groups': encoded('system:bootstrappers:joiner'),
}
const ownLabel = { 'joiner.sh/nodeclaim-uid': 'a' }

function secret(change: {
  readonly type?: string
  readonly labels?: object
  readonly data?: object
  readonly name?: string
}) {
  const {
    type = 'bootstrap.kubernetes.io/token',
    labels = ownLabel,
    data = tokenData,
    name = 'bootstrap-token-new',
  } = change
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, labels }, type, data }
}

const secrets = { group: '', version: 'v1', resource: 'secrets' }

const { expiration: _, ...withoutEnd } = tokenData

/** Requests of Joiner's accounts and of others that its privilege policies decide about. Errors: what kubectl says to the objects they need. */
export async function privilegedRequests(operator: Operator): Promise<readonly PrivilegedRequest[]> {
  const own = await stored(operator, secret({ name: 'bootstrap-token-own' }))
  const foreign = await stored(operator, secret({ name: 'foreign', type: 'Opaque', labels: {} }))
  const crd = await operator.api<Crd>(
    'GET',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh',
  )
  const claims = await operator.api<Crd>(
    'GET',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeclaims.karpenter.sh',
  )
  return [
    ...secretRequests(own, foreign),
    ...nameRequests(),
    ...crdRequests(crd),
    ...servingRequests(crd, 'NodePools', true),
    ...servingRequests(claims, 'NodeClaims', false),
  ]
}

async function stored(operator: Operator, object: Stored): Promise<Stored> {
  return operator.api<Stored>('POST', '/api/v1/namespaces/kube-system/secrets', object)
}

function secretRequests(own: Stored, foreign: Stored): readonly PrivilegedRequest[] {
  const namespace = 'kube-system'
  const at = { resource: secrets, namespace, userInfo: provider } as const
  const create = (object: Json, more: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
    operation: 'CREATE',
    ...at,
    object,
    ...more,
  })
  const update = (oldObject: Stored, change: Json): AdmissionRequest => ({
    operation: 'UPDATE',
    ...at,
    oldObject,
    object: { ...oldObject, ...change },
  })
  const data = (more: object) => secret({ data: { ...tokenData, ...more } })
  return [
    ['a token', create(secret({})), false],
    ['a Secret of another type', create(secret({ type: 'Opaque' })), true],
    ['a Secret without a type', create({ ...secret({}), type: undefined }), true],
    ['a token without labels', create(secret({ labels: {} })), true],
    ['a token with another label', create(secret({ labels: { team: 'a' } })), true],
    ['a token without data', create({ ...secret({}), data: undefined }), true],
    ['a token without an end', create(secret({ data: withoutEnd })), true],
    ['a token that signs', create(data({ 'usage-bootstrap-signing': encoded('true') })), true],
    ['a token of another group', create(data({ 'auth-extra-groups': encoded('system:masters') })), true],
    ["a person's Secret", create(secret({ type: 'Opaque' }), { userInfo: person }), false],
    ['a Secret elsewhere', create(secret({ type: 'Opaque' }), { namespace: 'default' }), false],
    [
      'a token that is changed',
      update(own, { data: { ...tokenData, expiration: encoded('2031-01-01T00:00:00Z') } }),
      false,
    ],
    ['a token that loses its end', update(own, { data: withoutEnd }), true],
    ['a Secret that is changed', update(foreign, { data: { a: encoded('b') } }), true],
    ['a token that is deleted', { operation: 'DELETE', ...at, oldObject: own }, false],
    ['a Secret that is deleted', { operation: 'DELETE', ...at, oldObject: foreign }, true],
    ['a Secret that a person deletes', { operation: 'DELETE', ...at, userInfo: person, oldObject: foreign }, false],
  ]
}

function nameRequests(): readonly PrivilegedRequest[] {
  const namespace = 'joiner'
  const configMap = (name: string, userInfo: AdmissionRequest['userInfo']): AdmissionRequest => ({
    operation: 'CREATE',
    resource: { group: '', version: 'v1', resource: 'configmaps' },
    namespace,
    userInfo,
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
  })
  const lease = (name: string): AdmissionRequest => ({
    operation: 'CREATE',
    resource: { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' },
    namespace,
    userInfo: account('joiner'),
    object: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } },
  })
  return [
    ['a ConfigMap of its own', configMap('joiner-a', account('joiner-planner')), false],
    ['a ConfigMap of another name', configMap('a-joiner-b', account('joiner-planner')), true],
    ["a person's ConfigMap", configMap('a', person), false],
    ['a ConfigMap of an account elsewhere', configMap('a', { username: 'system:serviceaccount:other:joiner' }), false],
    ['a Lease of its own', lease('joiner-b'), false],
    ['a Lease of another name', lease('b'), true],
  ]
}

/** Changes of what is served: of v1beta1 of NodeClaims alone, and of that nothing else. */
function servingRequests(crd: Crd, kind: string, isDenied: boolean): readonly PrivilegedRequest[] {
  const [first = {}, old = {}] = crd.spec.versions
  const update = (...versions: readonly Json[]): AdmissionRequest => ({
    operation: 'UPDATE',
    resource: { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
    userInfo: conversion,
    oldObject: crd,
    object: { ...crd, spec: { ...crd.spec, versions } },
  })
  const turned = (version: Json) => ({ ...version, served: version['served'] !== true })
  const selectableFields = [{ jsonPath: `.spec${kind === 'NodePools' ? '.template.spec' : ''}.nodeClassRef.name` }]
  const { deprecationWarning: _warning, ...unwarned } = turned(old) as Json
  return [
    [`${kind} of v1beta1, served or not`, update(first, turned(old)), isDenied],
    [`${kind} of v1, served or not`, update(turned(first), old), true],
    [`${kind} of v1beta1 and v1, served or not`, update(turned(first), turned(old)), true],
    [`${kind} of v1beta1, with another schema`, update(first, { ...turned(old), schema: first['schema'] }), true],
    [`${kind} of v1beta1, without a warning`, update(first, unwarned), true],
    // Kubernetes 1.30 does not know the field, and drops it.
    ...(chosenKubernetes() === 'newest'
      ? ([
          [`${kind} of v1beta1, with a field more`, update(first, { ...turned(old), selectableFields }), true],
        ] as const)
      : []),
    [`${kind} of v1beta1, with a name`, update(first, { ...turned(old), name: 'v1beta2' }), true],
    [`${kind} without v1beta1`, update(first), true],
    [`${kind} with a third version`, update(first, old, { ...old, name: 'v1alpha1' }), true],
  ]
}

function crdRequests(crd: Crd): readonly PrivilegedRequest[] {
  const update = (spec: Json, userInfo = conversion): AdmissionRequest => ({
    operation: 'UPDATE',
    resource: { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
    userInfo,
    oldObject: crd,
    object: { ...crd, spec: { ...crd.spec, ...spec } },
  })
  const converted = (clientConfig: Json, more: Json = {}) => ({
    conversion: { ...crd.spec.conversion, webhook: { ...crd.spec.conversion.webhook, clientConfig, ...more } },
  })
  const { url } = crd.spec.conversion.webhook['clientConfig'] as { readonly url: string }
  const service = { name: 'joiner-conversion', namespace: 'joiner', path: '/convert' }
  const [first, ...others] = crd.spec.versions
  return [
    ['a CRD that stays', update({}), false],
    ['a CRD at another path of its host', update(converted({ url: `${url}-again` })), false],
    ['a CRD at another host', update(converted({ url: 'https://elsewhere.example/convert' })), true],
    ['a CRD at the Service', update(converted({ service })), false],
    ['a CRD at another Service', update(converted({ service: { ...service, name: 'other' } })), true],
    ['a CRD at a Service elsewhere', update(converted({ service: { ...service, namespace: 'default' } })), true],
    ['a CRD with other reviews', update(converted({ service }, { conversionReviewVersions: ['v1', 'v1beta1'] })), true],
    ['a CRD without conversion', update({ conversion: { strategy: 'None' } }), true],
    [
      'a CRD with a version that is served no more',
      update({ versions: [{ ...first, served: false }, ...others] }),
      true,
    ],
    ["a person's CRD", update({ conversion: { strategy: 'None' } }, person), false],
  ]
}
