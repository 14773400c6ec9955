import { WorkflowNotFoundError } from '@temporalio/client'
import { describe, expect, test } from 'vitest'
import { freeName, nameOwner, nameProblem, startLoops } from './cluster-loops.ts'

interface Loop {
  readonly uid?: string
  readonly status?: string
}

/** A namespace of Temporal with these workflows, by id. `racing`: who starts a loop between a look and the start. */
function temporal(workflows: Readonly<Record<string, Loop>>, racing?: string) {
  const known = new Map<string, Loop>(Object.entries(workflows))
  const workflow = {
    getHandle: (id: string, runId?: string) => ({
      describe: async () => {
        const found = known.get(id)
        if (found === undefined) throw new WorkflowNotFoundError('not found', id, undefined)
        const memo = found.uid === undefined ? {} : { clusterUid: found.uid }
        return { status: { name: found.status ?? 'RUNNING' }, memo, runId: `run-${id}` }
      },
      terminate: async () => {
        if (runId !== `run-${id}`) throw new Error('another run')
        known.delete(id)
      },
    }),
    start: async (type: string, { workflowId, memo }: { workflowId: string; memo: { clusterUid: string } }) => {
      if (racing !== undefined && !known.has(workflowId)) known.set(workflowId, { uid: racing })
      // An id that runs is used as it is.
      if (known.get(workflowId)?.status !== undefined || !known.has(workflowId))
        known.set(workflowId, { uid: memo.clusterUid })
      return type
    },
  }
  const input = { client: { workflow } as never, cluster: 'c', clusterUid: 'own' }
  return { input, owners: () => Object.fromEntries([...known].map(([id, { uid }]) => [id, uid])) }
}

const [provisioning, disruption] = ['provisioning/c', 'disruption/c']
const ids = async () => {
  const { input, owners } = temporal({})
  await startLoops(input)
  return Object.keys(owners())
}

describe('the name of a cluster in a namespace', () => {
  test('is given to two workflows', async () => {
    expect(await ids()).toEqual([provisioning, disruption])
  })

  test.each<[string, Readonly<Record<string, Loop>>, string]>([
    ['that nobody uses', {}, 'unused'],
    ['whose loops have ended', { [provisioning]: { uid: 'other', status: 'TERMINATED' } }, 'unused'],
    ['that this cluster uses', { [provisioning]: { uid: 'own' }, [disruption]: { uid: 'own' } }, 'ours'],
    ['of which one loop is missing', { [disruption]: { uid: 'own' } }, 'ours'],
    ['that another cluster uses', { [provisioning]: { uid: 'other' } }, 'foreign'],
    [
      'of which another cluster uses one half',
      { [provisioning]: { uid: 'own' }, [disruption]: { uid: 'other' } },
      'foreign',
    ],
    ['of a loop without a UID', { [provisioning]: {} }, 'foreign'],
  ])('%s', async (_, loops, kind) => {
    expect((await nameOwner(temporal(loops).input)).kind).toBe(kind)
  })

  test('cannot be known when Temporal fails', async () => {
    const { input } = temporal({})
    const failing = {
      ...input,
      client: { workflow: { getHandle: () => ({ describe: () => Promise.reject(new Error('away')) }) } } as never,
    }
    await expect(nameOwner(failing)).rejects.toThrow('away')
  })
})

describe('starting the loops', () => {
  test('starts what does not run and leaves what does', async () => {
    const { input, owners } = temporal({ [provisioning]: { uid: 'own' } })
    expect(await startLoops(input)).toEqual({ kind: 'ours' })
    expect(owners()).toEqual({ [provisioning]: 'own', [disruption]: 'own' })
  })

  test.each([provisioning, disruption])('changes nothing where another cluster runs %s', async (id) => {
    const { input, owners } = temporal({ [id]: { uid: 'other' } })
    expect(await startLoops(input)).toMatchObject({ kind: 'foreign', workflowId: id, uid: 'other' })
    expect(owners()).toEqual({ [id]: 'other' })
  })

  test('of two clusters that start at once lets one through', async () => {
    const { input, owners } = temporal({}, 'other')
    expect(await startLoops(input)).toMatchObject({ kind: 'foreign', uid: 'other' })
    expect(owners()).toEqual({ [provisioning]: 'other' })
  })
})

test('a name is freed of the loops of others, and of none of its own', async () => {
  const { input, owners } = temporal({ [provisioning]: { uid: 'own' }, [disruption]: { uid: 'other' } })
  expect(await freeName(input)).toEqual([disruption])
  expect(owners()).toEqual({ [provisioning]: 'own' })
  expect(await freeName(input)).toEqual([])
})

test('the problem is reported with both UIDs and the remedy, and only where there is one', async () => {
  const { input } = temporal({ [provisioning]: { uid: 'other' } })
  const problem = nameProblem(await nameOwner(input), input, 'default')
  for (const part of ['"c"', '"default"', 'UID other', 'UID own', 'joiner admin takeover --temporal --cluster-name c'])
    expect(problem).toContain(part)
  expect(nameProblem({ kind: 'unused' }, input, 'default')).toBeUndefined()
  expect(nameProblem({ kind: 'ours' }, input, 'default')).toBeUndefined()
})
