import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  installedWorld,
  lifecycleOf,
  type TemporalState,
  temporalStates,
  waitingTemporal,
} from '../../../test/temporal-states/installed-world.ts'

const own = 'Joiner repairs this by itself within 30 s'

/** What is said of each state, and what is not. */
const expected: Readonly<Record<TemporalState, { readonly says: readonly RegExp[]; readonly not?: RegExp }>> = {
  away: {
    says: [/^not read: Temporal at 127\.0\.0\.1:1 cannot be reached/m, /^provisioning +- +not read$/m],
    not: /no disruption command|BROKEN/,
  },
  empty: {
    says: [
      new RegExp(`^BROKEN  workflow provisioning/local, workflow disruption/local: loop not running; ${own}$`, 'm'),
      new RegExp(`^BROKEN  Schedule maintenance/local: schedule missing; ${own}$`, 'm'),
      new RegExp(`^BROKEN  NodeClaim c, NodeClaim a, NodeClaim b: lifecycle missing; ${own}$`, 'm'),
    ],
  },
  'an attribute missing': { says: [/^no disruption command is under way$/m], not: /not read|not known|lifecycle/ },
  'visibility down': {
    says: [
      /^BROKEN {2}the list of lifecycles, .*: cannot be read, no usable connection to the visibility store: check/m,
      /^which disruption commands are under way is not known$/m,
      /^not read: disruption commands: no usable connection/m,
    ],
    not: /lifecycle missing|no disruption command/,
  },
  'a version apart': {
    says: [/^BROKEN {2}Temporal's server: server too old, .*: upgrade Temporal; until then/m],
    not: /not read|cannot be read/,
  },
}

afterEach(() => void vi.useRealTimers())

describe('joiner status', () => {
  test.each(temporalStates)('counts the NodeClaims and says what is wrong while Temporal is %s', async (state) => {
    const world = await installedWorld(state)
    const { code, stdout, stderr } = await world.joiner('status')
    const text = `${stdout}${stderr}`
    expect(code).toBe(1)
    expect(stdout).toMatch(/^NODEPOOL +NODES +LAUNCHING +READY .*\ndefault +3 +1 +2 /m)
    const { says, not = /not anywhere/ } = expected[state]
    for (const words of says) expect(text).toMatch(words)
    expect(text).not.toMatch(not)
    expect(text).not.toMatch(/^ +at /m)
    const json = JSON.parse((await world.joiner('status', '--output', 'json')).stdout)
    expect(json).toMatchObject({ nodePools: [{ nodePool: 'default', nodes: 3 }] })
  })

  test('says to delete the volume that the bundled Temporal waits for', async () => {
    const { cluster, joiner } = await installedWorld('away', { JOINER_TEMPORAL_BUNDLED: 'true' })
    cluster.put('pods', waitingTemporal(Date.now()))
    const { code, stderr } = await joiner('status')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^not read: pod joiner-temporal-0 has waited for its volume for 6 min: .*conflict/m)
    expect(stderr).toMatch(/^ {2}delete the volume, no node is lost: kubectl delete pvc data-joiner-temporal-0/m)
    expect(stderr).toMatch(/^Temporal at 127\.0\.0\.1:1 cannot be reached/m)
    const { unread } = JSON.parse((await joiner('status', '-o', 'json')).stdout) as {
      readonly unread: readonly string[]
    }
    expect(unread).toContainEqual(
      expect.stringMatching(/^Temporal: pod joiner-temporal-0 .*kubectl delete pvc .*cannot be reached/),
    )
    const { stderr: other } = await (await installedWorld('away')).joiner('status')
    expect(other).not.toContain('volume')
  })

  test('names a NodeClaim whose lifecycle somebody ended, and who does not repair it', async () => {
    const { cluster, terminate, joiner } = await installedWorld()
    await terminate(lifecycleOf('b'))
    cluster.remove('leases', 'joiner-bridge', 'joiner')
    const { stdout } = await joiner('status')
    expect(stdout).toMatch(
      /^BROKEN {2}NodeClaim b: lifecycle missing; nobody repairs it, since nobody has taken the Lease joiner-bridge .*: a process with the role bridge starts it: kubectl get pods/m,
    )
    const json = JSON.parse((await joiner('status', '--output', 'json')).stdout)
    expect(json.findings).toEqual([
      {
        object: 'NodeClaim b',
        fault: 'lifecycle missing',
        remedy: 'a process with the role bridge starts it: kubectl get pods --namespace joiner',
        isBeingRepaired: false,
      },
    ])
  })

  test('a lifecycle without a NodeClaim is broken only where nobody has it end', async () => {
    const { cluster, joiner } = await installedWorld()
    cluster.remove('nodeclaims', 'b')
    // Younger runs are no differences.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 40_000 })
    const { stdout } = await joiner('status', '--output', 'json')
    const { problems, findings } = JSON.parse(stdout)
    expect(problems.join('\n')).not.toContain('nodeclaim/local/b')
    expect(findings).toMatchObject([{ object: 'workflow nodeclaim/local/b-bbbbbbbb', isBeingRepaired: true }])
    cluster.remove('leases', 'joiner-bridge', 'joiner')
    expect((await joiner('status')).stdout).toMatch(
      /^BROKEN {2}workflow nodeclaim\/local\/b-bbbbbbbb: lifecycle without/m,
    )
  })

  test('does not know how many nodes there are where NodeClaims cannot be read, and compares nothing', async () => {
    const { cluster, joiner } = await installedWorld()
    cluster.intercept(({ path }) => {
      if (path.includes('/nodeclaims')) throw new Error('HTTP 500')
    })
    const { code, stdout, stderr } = await joiner('status')
    expect([code, stderr]).toEqual([1, expect.stringContaining('not read: nodeclaims: HTTP 500')])
    expect(stdout).toMatch(/^how many nodes there are is not known$/m)
    expect(stdout).not.toMatch(/lifecycle/)
    expect(JSON.parse((await joiner('status', '--output', 'json')).stdout)).toMatchObject({ nodePools: null })
  })
})
