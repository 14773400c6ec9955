// Three nights on call: the first command that one would type, what it says, and each remedy that is printed, carried out as it stands there.
import { deployment } from '../../applied-objects.ts'
import { need, pod, pool, requirePool, runPrinted, typeKey, untilBound } from '../../why-situations/objects.ts'
import { claimsPath, World } from '../../world.ts'
import { afterAll, beforeAll, describe, expect, test } from '../scenario.ts'

const [refused, sold] = ['Standard_E2s_v5', 'Standard_D2s_v5']

let world: World

beforeAll(async () => {
  world = await World.start()
  await world.startWithNodeClass()
})
afterAll(() => world?.stop())

/** What `joiner status` prints, whatever it ends with. */
function status(): Promise<{ readonly code: number; readonly text: string }> {
  return world.joiner('status').then(
    (text) => ({ code: 0, text }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, text: stdout + stderr }),
  )
}

/** Waits until `joiner status` says something. Returns the match. */
const untilStatusSays = (what: RegExp) =>
  world.until(`joiner status says ${what}`, async () => what.exec((await status()).text) ?? undefined)

describe('Azure refuses the size of a pod', () => {
  /** From `joiner status` to the command that it names for the pod, and what that answers. */
  async function askedAboutPod(name: string): Promise<string> {
    await world.fault({ kind: 'failSync', code: 'SkuNotAvailable', match: { sku: refused }, count: 10_000 })
    await world.apply(pool(name, { requirements: [need(typeKey, refused)] }), pod(name))
    const [, command = ''] = await untilStatusSays(
      new RegExp(
        `^PENDING .*capacity 1.*\\n(?:  .*\\n)*?  default/${name}: .*Azure refused.* \\((joiner why pod default/${name})\\)$`,
        'm',
      ),
    )
    const answer = await world.joiner(...command.split(' ').slice(1))
    expect(answer).toMatch(
      /unschedulable \(capacity\): .*Azure refused Standard_E2s_v5 on-demand.*\(SKUNotAvailable\), left out for \S+ more \(until/,
    )
    expect(answer).not.toMatch(/lower .*requests/)
    return answer
  }

  test('until it sells it again, and the marks are cleared by the printed command', async () => {
    const answer = await askedAboutPod('cleared')
    const [, list = '', clear = ''] =
      /(joiner blocked capacity list), (joiner blocked capacity clear --all)$/m.exec(answer) ?? []
    await world.operator.simulator('DELETE', '/faults')
    expect(await world.joiner(...list.split(' ').slice(1))).toContain('SKUNotAvailable')
    await runPrinted(world, clear)
    await untilBound(world, 'cleared')
    await untilStatusSays(/^no pod waits for a node$/m)
  })

  test('and the NodePool allows another one, as is printed', async () => {
    const answer = await askedAboutPod('widened')
    const [, name = ''] = /let NodePool "([^"]+)" allow more instance types/.exec(answer) ?? []
    await requirePool(world, name, need(typeKey, refused, sold))
    await untilBound(world, 'widened')
    await untilStatusSays(/^no pod waits for a node$/m)
    await world.operator.simulator('DELETE', '/faults')
  })
})

describe('a PodDisruptionBudget holds a drain', () => {
  /** A node whose drain a budget holds, with what `joiner why node` says of it. */
  async function heldDrain(name: string) {
    await world.apply(
      pool(name, { requirements: [need(typeKey, sold)] }),
      deployment({ name, replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': name } }),
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name, namespace: 'default' },
        spec: { maxUnavailable: 0, selector: { matchLabels: { app: name } } },
      },
    )
    await world.until('the pod runs', async () => (await world.running(name)) === 1)
    const claim = (await world.list('nodeclaims')).find(({ metadata }) => metadata.name.startsWith(`${name}-`))
    const own = claim?.metadata.name ?? ''
    await world.operator.kubectl(['delete', 'nodeclaim', own, '--wait=false'])
    await untilStatusSays(new RegExp(`DRAINING(.*\\n)+${name} `))
    // Lists of Temporal are a moment behind.
    await world.until('the lifecycle is listed', async () =>
      (await world.lifecycles("ExecutionStatus = 'Running'")).some(({ nodeClaim }) => nodeClaim === own),
    )
    const answer = await world.until('the budget is named', async () => {
      const said = await world.joiner('why', 'node', own)
      return said.includes(`PodDisruptionBudget default/${name}`) && said.includes('kubectl edit pdb') && said
    })
    return { own, answer }
  }

  const gone = (claim: string) =>
    world.until('the NodeClaim is gone', async () =>
      (await world.list('nodeclaims')).every(({ metadata }) => metadata.name !== claim),
    )

  test('which is edited as the answer says', async () => {
    const { own, answer } = await heldDrain('edited')
    const [, namespace = '', name = ''] = /\(kubectl edit pdb --namespace (\S+) (\S+)\)/.exec(answer) ?? []
    const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${name}`
    await world.operator.api('PATCH', path, { spec: { maxUnavailable: 1 } })
    await gone(own)
  })

  test('which is given up by the last resort that is printed', async () => {
    const { own, answer } = await heldDrain('forced')
    const [, command = ''] = /as a last resort, without eviction: (joiner node force-finish .*)$/m.exec(answer) ?? []
    // The person says why, and is not asked.
    await runPrinted(world, `${command.replace(/--reason \S+/, "--reason 'on call'")} --leave-vm --yes`)
    await gone(own)
    await expect(world.operator.api('GET', `${claimsPath}/${own}`)).rejects.toThrow()
  })
})

test('Temporal is away: status says so first, says what it does not know, and ends with 1 until it is back', async () => {
  expect(await status()).toMatchObject({ code: 0 })
  let isBack = false
  const back = world.restartServer('temporal', 300_000).finally(() => {
    isBack = true
  })
  const away = await world.until('status says it', async () => {
    const said = await status()
    return said.text.includes('Temporal at') && said
  })
  expect(isBack).toBe(false)
  expect(away.code).toBe(1)
  expect(away.text).toMatch(/^not read: Temporal at \S+ cannot be reached/m)
  // The remedy: the frontend runs, at the address that Joiner has.
  expect(away.text).toMatch(
    /^ {2}check --temporal-address, else TEMPORAL_ADDRESS \(chart: temporal.address\), and that the frontend runs$/m,
  )
  expect(away.text).toContain('which disruption commands are under way is not known')
  expect(away.text).not.toMatch(/no disruption command is under way|nothing is wrong/)
  await back
  await world.until('all is known again', async () => (await status()).code === 0)
})
