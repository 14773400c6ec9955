import { expect, test } from 'vitest'
import { ownedBy, samplePod } from '../../test/samples/sample-objects.ts'
import { workloadOf } from './pod-rules.ts'

const owned = (kind: string, name: string, labels = {}) =>
  samplePod('p', {
    metadata: {
      namespace: 'shop',
      labels,
      ownerReferences: [{ ...ownedBy(kind).ownerReferences?.[0], name } as never],
    },
  })

test.each([
  [samplePod('p'), 'default/Pod/p'],
  [owned('ReplicaSet', 'web-5d9c7', { 'pod-template-hash': '5d9c7' }), 'shop/Deployment/web'],
  [owned('ReplicaSet', 'web-5d9c7'), 'shop/ReplicaSet/web-5d9c7'],
  [owned('StatefulSet', 'db'), 'shop/StatefulSet/db'],
  [owned('Job', 'nightly-28371840'), 'shop/CronJob/nightly'],
  [owned('Job', 'once'), 'shop/Job/once'],
])('%#: a pod belongs to %s', (pod, expected) => {
  expect(workloadOf(pod)).toBe(expected)
})
