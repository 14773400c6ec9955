import { Client } from '@temporalio/client'
import { findClusterUid } from '../../../activities/azure/access/found-facts.ts'
import {
  installationProblem,
  ownInstallation,
  readOwnership,
} from '../../../activities/kubernetes/client/installation.ts'
import { nameOwner, nameProblem } from '../../bridge/cluster-loops.ts'
import { connectClient, connectMs } from '../../temporal/connect.ts'
import { messageOf } from '../../temporal/problem.ts'
import { type Check, type Finding, fail, ok, warn, worst } from './check.ts'
import type { DoctorContext } from './context.ts'

/** Whether the CRDs are this installation's, and the cluster's name in Temporal is this cluster's. */
export function clusterIdentityCheck({ kubernetes, config, temporal }: DoctorContext): Check {
  return {
    name: 'installation',
    remedy: 'kubectl get crd nodepools.karpenter.sh --output yaml; temporal workflow list',
    run: async () => worst(await Promise.all([installation(), name()])),
  }

  async function installation(): Promise<Finding> {
    const own = await ownInstallation(kubernetes, config.JOINER_RELEASE, config.JOINER_NAMESPACE)
    const found = await readOwnership(kubernetes, own)
    const reported = `release "${own.release}" in namespace "${own.namespace}"`
    if (found.kind === 'ours') return ok(`the CRDs are those of ${reported}`)
    const [what = '', remedy = ''] = (installationProblem(found, own) ?? '').split('; ')
    return found.kind === 'unclaimed'
      ? warn(`nobody has claimed the CRDs; Joiner (${reported}) does so when it starts`, [])
      : fail(what, [remedy])
  }

  async function name(): Promise<Finding> {
    const input = { cluster: config.CLUSTER_NAME, clusterUid: await findClusterUid(kubernetes) }
    const connection = await connectClient(temporal).catch((error: unknown) => messageOf(error))
    if (typeof connection === 'string')
      return warn(`whose the name "${input.cluster}" is in Temporal was not looked at: ${connection}`, [
        'fix "temporal" first',
      ])
    try {
      const client = new Client({ connection, namespace: temporal.namespace })
      const owner = await connection.withDeadline(Date.now() + connectMs, () => nameOwner({ ...input, client }))
      const problem = nameProblem(owner, input, temporal.namespace)
      if (problem === undefined) return ok(`the name "${input.cluster}" is this cluster's in Temporal`)
      const [what = '', remedy = ''] = problem.split('; ')
      return fail(what, [remedy])
    } finally {
      await connection.close()
    }
  }
}
