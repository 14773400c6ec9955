import { describe, expect, test } from 'vitest'
import type { Json, ListResult } from '../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { claimJson, condition, nodeJson, vmProviderId } from '../../test/fakes/objects.ts'
import { aksPools, ifServed, listed, nodeClaims, nodePools, nodes, object } from './from-cluster.ts'
import { withheld } from './kept.ts'
import { readNode } from './node-picture.ts'
import { needed, readPicture, readWhole } from './picture.ts'

type Answer = readonly Json[] | ApiError

/** A cluster that answers lists, and gets the first object of a path. */
function scene(answers: Readonly<Record<string, Answer>>) {
  const asked: string[] = []
  const answer = (path: string): readonly Json[] => {
    asked.push(path)
    const found = answers[path] ?? new ApiError(404, 'NotFound', 'no such path')
    if (found instanceof ApiError) throw found
    return found
  }
  const client = {
    async *listPages(path: string): AsyncGenerator<ListResult> {
      yield { items: answer(path), resourceVersion: '' }
    },
    get: async (path: string) => answer(path)[0],
  } as unknown as KubernetesClient
  return { client, namespace: 'joiner', now: 0, asked }
}

const claimsPath = '/apis/karpenter.sh/v1/nodeclaims'
const forbidden = new ApiError(403, 'Forbidden', 'no')

describe('a picture', () => {
  test('asks for what an answer names, and for nothing else', async () => {
    const { asked, ...where } = scene({ [claimsPath]: [claimJson('a')] })
    const picture = await readPicture(where, { nodeClaims })
    expect(picture.nodeClaims?.map(({ metadata }) => metadata.name)).toEqual(['a'])
    expect([asked, picture.missing]).toEqual([[claimsPath], []])
  })

  test('names what it lacks, with the remedy, and has the rest', async () => {
    const where = scene({
      '/api/v1/nodes': new ApiError(500, 'InternalError', 'broken'),
      [claimsPath]: forbidden,
      '/apis/apps/v1/deployments': [],
    })
    const deployments = listed('deployments', (json) => json)
    const picture = await readPicture(where, { nodes, nodeClaims, nodePools, deployments })
    expect(picture).toMatchObject({ nodes: undefined, nodeClaims: undefined, nodePools: undefined, deployments: [] })
    expect(picture.missing).toEqual([
      { what: 'nodes', why: 'broken', remedy: expect.stringContaining('check that the API server answers') },
      {
        what: 'nodeclaims',
        why: 'no right to read it',
        remedy: expect.stringContaining('kubectl auth can-i list nodeclaims'),
        isForbidden: true,
      },
      { what: 'nodepools', why: 'no such path', remedy: expect.stringContaining('joiner admin crds apply') },
    ])
  })

  test('cannot be taken for whole where a part that an answer needs is missing', async () => {
    const where = scene({ [claimsPath]: forbidden, '/api/v1/nodes': [] })
    const parts = { nodes, nodeClaims }
    const picture = await readPicture(where, parts)
    expect(needed(picture, { nodes })).toMatchObject({ nodes: [] })
    expect(() => needed(picture, parts)).toThrow(/^nodeclaims: no right to read it; /)
    await expect(readWhole(where, parts)).rejects.toMatchObject({ isForbidden: true })
    await expect(readWhole(where, { nodeClaims, nodePools })).rejects.toThrow(
      /^nodeclaims: [^\n]*\nnodepools: no such path/,
    )
    await expect(readWhole(scene({}), { nodePools })).rejects.toMatchObject({ isForbidden: false })
  })

  test('leaves out objects that cannot be understood, and says which', async () => {
    const odd = { metadata: { name: 'odd\u001b[2J' } }
    const picture = await readPicture(scene({ '/apis/karpenter.sh/v1/nodepools': [odd] }), { aksPools })
    expect(picture.aksPools).toEqual([])
    expect(picture.damaged).toEqual([
      expect.stringMatching(/^nodepools: 1 are not as their kind is: odd\\u001b\[2J \(/),
    ])
  })

  test('has no object of a kind that the cluster does not serve, where that is all that is asked', async () => {
    const picture = await readPicture(scene({}), {
      pools: ifServed(nodePools),
      gone: object('nodes', (json) => json, { name: 'a' }),
    })
    expect(picture).toMatchObject({ pools: [], gone: [], missing: [] })
  })

  test('says what of a kept document cannot be used', async () => {
    const path = '/api/v1/namespaces/joiner/configmaps/joiner-withheld-machines'
    const { damaged, missing } = await readPicture(scene({ [path]: [{ data: { Machines: 'x' } }] }), { withheld })
    expect(missing).toEqual([])
    expect(damaged).toEqual([
      expect.stringMatching(/^ConfigMap joiner\/joiner-withheld-machines: Machines cannot be used/),
    ])
  })
})

test("a Node that has joined is its NodeClaim's before registration says so, and a stranger of its name is not", async () => {
  const claim = claimJson('a', { status: { nodeName: undefined, conditions: [condition('Launched')] } })
  const nodeOf = async (providerID: string) => {
    const node = { kind: 'Node', ...nodeJson('a', { spec: { providerID } }) }
    const empty = ['/api/v1/pods', '/apis/policy/v1/poddisruptionbudgets', '/api/v1/namespaces/default/events']
    const where = scene({
      [`${claimsPath}/a`]: [claim],
      '/api/v1/nodes/aks-a': [node],
      ...Object.fromEntries(empty.map((path) => [path, []])),
    })
    return (await readNode('a', where))?.node?.metadata.name
  }
  expect(await nodeOf(vmProviderId('a'))).toBe('aks-a')
  expect(await nodeOf(vmProviderId('b'))).toBe(undefined)
})
