import { expect, test } from 'vitest'
import { version } from './build-info.ts'
import { workerVersioning } from './serving.ts'

const off = {
  CLUSTER_NAME: 'west.1',
  JOINER_WORKER_VERSIONING: false,
  TEMPORAL_DEPLOYMENT_NAME: undefined,
  TEMPORAL_WORKER_BUILD_ID: undefined,
}
const own = { deploymentName: 'joiner-west-1', buildId: `${version}-0123456789ab` }
const given = { TEMPORAL_DEPLOYMENT_NAME: 'joiner/joiner', TEMPORAL_WORKER_BUILD_ID: 'v7' }

test('by default workers have no version, and unversioned ones are kept current', () => {
  expect(workerVersioning(off, '0123456789ab')).toEqual({
    options: undefined,
    own: { deploymentName: 'joiner-west-1' },
  })
})

test('a version names the cluster, the release and the workflow code', () => {
  expect(workerVersioning({ ...off, JOINER_WORKER_VERSIONING: true }, '0123456789ab')).toEqual({
    options: { version: own, useWorkerVersioning: true, defaultVersioningBehavior: 'AUTO_UPGRADE' },
    own,
  })
})

test.each([true, false])('names that a controller gives hold, and it decides which is current (switch: %s)', (on) => {
  expect(workerVersioning({ ...off, ...given, JOINER_WORKER_VERSIONING: on }, '0123456789ab')).toEqual({
    options: {
      version: { deploymentName: 'joiner/joiner', buildId: 'v7' },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
    own: undefined,
  })
})
