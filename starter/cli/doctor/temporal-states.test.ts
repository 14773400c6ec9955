import { Connection } from '@temporalio/client'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { claimJson } from '../../../test/fakes/objects.ts'
import {
  installedWorld,
  lifecycleOf,
  type TemporalState,
  temporalStates,
  waitingTemporal,
} from '../../../test/temporal-states/installed-world.ts'
import { whyOf } from '../../picture/missing.ts'
import type { TemporalSettings } from '../../temporal/settings.ts'
import { examineTemporal } from './temporal.ts'
import { examineWorkflows } from './workflows.ts'

/** Nothing listens there, for whoever looks beside the connection. */
const temporal: TemporalSettings = {
  address: '127.0.0.1:1',
  namespace: 'default',
  load: () => ({ address: '127.0.0.1:1', tls: false, metadata: {} }),
}
const config = { CLUSTER_NAME: 'local', JOINER_NAMESPACE: 'joiner', PROVISION_MODE: 'aksscriptless' }
const own = 'Joiner repairs this by itself within 30 s'

afterEach(() => void vi.restoreAllMocks())

/** What both checks of Temporal find in a state. `more`: of the context. */
async function examined(
  state: TemporalState | undefined,
  change?: (world: Awaited<ReturnType<typeof installedWorld>>) => unknown,
  more: object = {},
) {
  const world = await installedWorld(state)
  await change?.(world)
  const { connection, cluster } = world
  const nowhere = {
    ensureConnected: () => Promise.reject(new Error('No connection established')),
    close: () => undefined,
  }
  vi.spyOn(Connection, 'lazy').mockReturnValue((state === 'away' ? nowhere : connection) as never)
  const context = { config, temporal, kubernetes: cluster.client, now: () => Date.now(), ...more } as never
  const found = await Promise.all(
    [examineTemporal, examineWorkflows].map((examine) =>
      examine(context).catch((error: unknown) => ({ status: 'threw', summary: whyOf(error) })),
    ),
  )
  return found.map((finding) => ({ ...finding, text: JSON.stringify(finding) }))
}

/** Status and words of the checks `temporal` and `workflows`. */
const expected: Readonly<Record<TemporalState, readonly (readonly [string, RegExp])[]>> = {
  away: [
    ['fail', /Temporal at 127\.0\.0\.1:1 cannot be reached/],
    ['fail', /not looked at: Temporal cannot be used.*fix ."temporal." first/],
  ],
  empty: [
    ['ok', /namespace/],
    ['warn', new RegExp(`loop not running; ${own}.*schedule missing; ${own}.*lifecycle missing; ${own}`)],
  ],
  'an attribute missing': [
    ['ok', /namespace/],
    ['warn', new RegExp(`search attribute NodePhase: search attribute missing.*; ${own}`)],
  ],
  'visibility down': [
    ['ok', /namespace/],
    ['fail', /the list of lifecycles.*cannot be read, no usable connection to the visibility store/],
  ],
  'a version apart': [
    ['ok', /Temporal 1\.29\.1 at/],
    ['warn', /server too old.*upgrade Temporal; until then end such workflows by hand/],
  ],
}

describe('joiner doctor', () => {
  test.each(temporalStates)('names what is wrong and its remedy while Temporal is %s', async (state) => {
    const found = await examined(state)
    expect(found.map(({ status, text }) => [status, text])).toEqual(
      expected[state].map(([status, words]) => [status, expect.stringMatching(words)]),
    )
  })

  test('finds nothing where all is well', async () => {
    expect((await examined(undefined)).map(({ status }) => status)).toEqual(['ok', 'ok'])
  })

  test('fails where nobody repairs what is missing, and warns of what somebody paused', async () => {
    const [, workflows] = await examined(undefined, async ({ client, cluster, terminate }) => {
      await terminate(lifecycleOf('a'))
      await client.schedule.getHandle('maintenance/local').pause('bob looks into drift')
      cluster.remove('leases', 'joiner-bridge', 'joiner')
    })
    expect(workflows).toMatchObject({
      status: 'fail',
      summary: expect.stringContaining('NodeClaim a: lifecycle missing; nobody repairs it'),
      details: ['Schedule maintenance/local: schedule paused, bob looks into drift'],
      remedies: [
        'a process with the role bridge starts it: kubectl get pods --namespace joiner',
        expect.stringContaining('temporal schedule toggle --unpause --schedule-id maintenance/local'),
      ],
    })
  })

  const bundled = { config: { ...config, JOINER_TEMPORAL_BUNDLED: true } }

  test('warns of more nodes than the bundled Temporal was measured with', async () => {
    const full = ({ cluster }: Awaited<ReturnType<typeof installedWorld>>) => {
      for (let index = 3; index < 201; index++) cluster.put('nodeclaims', claimJson(`more-${index}`))
    }
    const [of201] = await examined(undefined, full, bundled)
    expect(of201).toMatchObject({
      status: 'warn',
      summary: '201 NodeClaims, and the bundled Temporal is for up to 200',
      remedies: ['run a Temporal of your own, and set temporal.address: docs/temporal.md'],
    })
    const [own] = await examined(undefined, full)
    expect(own?.text).not.toContain('bundled')
    const [few] = await examined(undefined, undefined, bundled)
    expect(few).toMatchObject({ status: 'ok' })
  })

  test('says to delete the volume that the bundled Temporal waits for', async () => {
    const [temporal] = await examined(
      'away',
      ({ cluster }) => cluster.put('pods', waitingTemporal(Date.now())),
      bundled,
    )
    expect(temporal).toMatchObject({
      status: 'fail',
      summary: expect.stringMatching(/^pod joiner-temporal-0 has waited for its volume for 6 min: .*affinity conflict/),
      remedies: [
        expect.stringMatching(/^delete the volume, no node is lost: kubectl delete pvc/),
        expect.anything(),
        expect.anything(),
      ],
      text: expect.stringContaining('Temporal at 127.0.0.1:1 cannot be reached'),
    })
  })

  test('goes on with its other checks where nothing leads to Temporal from here', async () => {
    const unreached = 'Service joiner/joiner-temporal has no ready pod'
    const [temporal] = await examined('away', undefined, { unreached })
    expect(temporal).toMatchObject({ status: 'fail', summary: unreached })
  })

  test('says that lifecycles were not compared where NodeClaims cannot be listed', async () => {
    const [, workflows] = await examined(undefined, ({ cluster }) =>
      cluster.intercept(({ path }) => {
        if (path.includes('/nodeclaims')) throw new Error('HTTP 500')
      }),
    )
    expect(workflows).toMatchObject({
      status: 'warn',
      summary: expect.stringMatching(/not compared .*HTTP 500; check that the API server answers/),
    })
  })
})
