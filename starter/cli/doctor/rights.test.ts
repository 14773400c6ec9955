import { expect, test } from 'vitest'
import type { DoctorContext } from './check.ts'
import { examineRights } from './rights.ts'

/** What doctor says in a pod of the account joiner-azure, which may do everything, and how many things it asked about. */
async function inPod(JOINER_ROLES: readonly string[]) {
  let asked = 0
  const config = {
    JOINER_NAMESPACE: 'joiner',
    JOINER_ROLES,
    SCHEDULER_CONFIG: [],
    FEATURE_GATES: {},
    NETWORK_POLICY: '',
  }
  const kubernetes = {
    version: () => Promise.resolve('v1.36.3'),
    create: (path: string) => {
      if (path.endsWith('/selfsubjectreviews'))
        return Promise.resolve({ status: { userInfo: { username: 'system:serviceaccount:joiner:joiner-azure' } } })
      asked += 1
      return Promise.resolve({ status: { allowed: true } })
    },
  }
  const context = { config, kubernetes, serviceAccount: 'joiner-azure' } as unknown as DoctorContext
  const { details = [] } = await examineRights(context)
  return { asked, details }
}

test('a pod of one role asks about its own account, and names those that it cannot ask about', async () => {
  expect((await inPod(['azure'])).details).toEqual([
    'system:serviceaccount:joiner:joiner-azure cannot ask about joiner, joiner-planner, joiner-conversion',
  ])
})

test('a pod with all roles asks about the rights of all of them, and names no account that there is not', async () => {
  const single = await inPod(['core', 'bridge', 'azure', 'planner', 'conversion'])
  expect(single.details).toEqual([])
  expect(single.asked).toBeGreaterThan((await inPod(['azure'])).asked)
})
