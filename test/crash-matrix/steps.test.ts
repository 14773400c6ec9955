import { expect, test } from 'vitest'
import type { Call } from '../faults/gate.ts'
import { isAt, nameOf, StepReader } from './steps.ts'

const claims = '/apis/karpenter.sh/v1/nodeclaims'
const aksCluster = '/subscriptions/0/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/local'
const call = (method: string, path: string, body: unknown = ''): Call => ({
  method,
  path,
  body: body === '' ? '' : JSON.stringify(body),
})
const conditions = (...states: readonly string[]) => ({
  status: { conditions: states.map((one) => ({ type: one.split('=')[0], status: one.split('=')[1] })) },
})

function read(reader: StepReader, one: Call): string | undefined {
  const step = reader.read(one)
  return step === undefined ? undefined : `${nameOf(step)} @${step.pool ?? '-'}`
}

test.each([
  ['GET', `${claims}/m001-abc`, '', undefined],
  ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { spec: {} }, undefined],
  ['POST', claims, { metadata: { name: 'm001-abc' } }, 'POST nodeclaims @m001'],
  [
    'POST',
    claims,
    { metadata: { name: 'm001-abc', annotations: { 'joiner.sh/replacement-for': 'x' } } },
    'POST nodeclaims replacement @m001',
  ],
  ['DELETE', `${claims}/m001-abc`, { kind: 'DeleteOptions' }, 'DELETE nodeclaims @m001'],
  ['PATCH', `${claims}/m001-abc`, { metadata: { finalizers: [] } }, 'PATCH nodeclaims no finalizer @m001'],
  [
    'PATCH',
    '/api/v1/nodes/aks-m012-abc',
    { spec: { taints: [{ key: 'karpenter.sh/disrupted' }] } },
    'PATCH nodes taint karpenter.sh/disrupted @m012',
  ],
  [
    'PATCH',
    '/api/v1/nodes/aks-m012-abc',
    [
      { op: 'test', path: '/spec/taints', value: [{ key: 'a' }] },
      { op: 'add', path: '/metadata/labels/karpenter.sh~1initialized', value: 'true' },
      { op: 'remove', path: '/spec/taints' },
    ],
    'PATCH nodes label karpenter.sh/initialized, no taints @m012',
  ],
  ['POST', '/api/v1/namespaces/default/pods/m001-x-y/eviction', {}, 'POST pods/eviction @m001'],
  [
    'PUT',
    '/subscriptions/0/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/aks-m001-abc',
    {},
    'PUT Microsoft.Compute/virtualMachines @m001',
  ],
  [
    'PUT',
    `${aksCluster}/agentPools/machines/machines/m001-abc`,
    {},
    'PUT Microsoft.ContainerService/managedClusters/agentPools/machines @m001',
  ],
  [
    'POST',
    `${aksCluster}/agentPools/machines/deleteMachines`,
    { machineNames: ['m001-abc'] },
    'POST Microsoft.ContainerService/managedClusters/agentPools/deleteMachines @m001',
  ],
  [
    'PATCH',
    '/apis/coordination.k8s.io/v1/namespaces/joiner/leases/joiner-bridge',
    { spec: {} },
    'PATCH leases joiner-bridge @-',
  ],
  [
    'POST',
    '/api/v1/namespaces/joiner/configmaps',
    { metadata: { name: 'joiner-evaluations-7' }, data: { 'm001-abc': '' } },
    'POST configmaps joiner-evaluations-N @-',
  ],
])('%s %s', (method, path, body, expected) => {
  expect(read(new StepReader(), call(method, path, body))).toBe(expected)
})

test('of conditions those count that changed', () => {
  const reader = new StepReader()
  const status = (...states: readonly string[]) => {
    const write = call('PATCH', `${claims}/m001-a/status`, conditions(...states))
    const step = read(reader, write)
    reader.learn(write, { status: 200, headers: {}, text: write.body })
    return step
  }
  expect(status('Launched=True', 'Ready=Unknown')).toBe('PATCH nodeclaims/status Launched=True @m001')
  expect(status('Launched=True', 'Ready=Unknown')).toBe('PATCH nodeclaims/status messages of conditions @m001')
  expect(status('Launched=True', 'Drifted=True', 'Ready=True')).toBe(
    'PATCH nodeclaims/status Drifted=True, Ready=True @m001',
  )
  expect(status('Launched=True', 'Ready=True')).toBe('PATCH nodeclaims/status no Drifted @m001')
})

test('the retry of a write that lost its optimistic lock is the same step', () => {
  const reader = new StepReader()
  const write = call('PATCH', `${claims}/m001-a/status`, conditions('Initialized=True', 'Ready=True'))
  const step = 'PATCH nodeclaims/status Initialized=True, Ready=True @m001'
  expect(read(reader, write)).toBe(step)
  reader.learn(write, { status: 409, headers: {}, text: JSON.stringify({ kind: 'Status', status: 'Failure' }) })
  expect(read(reader, write)).toBe(step)
})

test('a token belongs to the pool of its claim, also when it is deleted by name', () => {
  const reader = new StepReader()
  const answer = { status: 201, headers: {}, text: JSON.stringify({ metadata: { name: 'm003-abc', uid: 'u-1' } }) }
  reader.learn(call('POST', claims), answer)
  const token = { metadata: { name: 'bootstrap-token-x', labels: { 'joiner.sh/nodeclaim-uid': 'u-1' } } }
  expect(read(reader, call('POST', '/api/v1/namespaces/kube-system/secrets', token))).toBe('POST secrets @m003')
  const path = '/api/v1/namespaces/kube-system/secrets/bootstrap-token-x'
  expect(read(reader, call('DELETE', path))).toBe('DELETE secrets @m003')
})

test('conditions that were recorded together may come apart', () => {
  const step = { kind: 'PATCH nodeclaims/status', changes: ['Ready=True', 'Registered=True'] }
  expect(isAt(step, { ...step, changes: ['Registered=True'] })).toBe(true)
  expect(isAt(step, { ...step, changes: ['Launched=True'] })).toBe(false)
  expect(isAt({ kind: 'DELETE nodes', changes: [] }, { kind: 'DELETE nodes', changes: [] })).toBe(true)
})
