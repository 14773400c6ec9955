import { expect, test } from 'vitest'
import { samplePod } from '../../../test/samples/sample-objects.ts'
import { waitingPods } from './waiting-classes.ts'

test('more pods of a class than a function takes arguments wait since the first of them came', () => {
  const pod = samplePod('web')
  const standing = { state: 'held', finding: 'they are planned in the next pass', funnel: [], remedies: [] } as const
  const { classes } = waitingPods(Array.from({ length: 150_000 }, () => ({ ...standing, pod, likeness: 'web' })))
  expect([...classes.values()]).toMatchObject([{ count: 150_000, sinceMs: Date.parse(pod.metadata.creationTimestamp) }])
})
