import type { Connection } from '@temporalio/client'
import { managesMachines } from '../../../api/config.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { counted } from '../../document/words.ts'
import { clusterScene, ownClaims } from '../../picture/from-cluster.ts'
import { whyOf } from '../../picture/missing.ts'
import { readWhole } from '../../picture/picture.ts'
import { connectClient, temporalClient } from '../../temporal/connect.ts'
import type { Fault, LookContext } from '../../temporal/findings/finding.ts'
import { lookOnce } from '../../temporal/findings/look.ts'
import { findingGroups, type Repairer, readRepairer } from '../shared/temporal-findings.ts'
import { type DoctorContext, type Finding, fail, ok, warn, worst } from './check.ts'

/** What costs nothing by itself: an order of somebody's, or something that is done later or seen less well. */
const harmless: ReadonlySet<Fault> = new Set(['schedule paused', 'schedule late', 'not allowed', 'server too old'])

/** Whether what Joiner has in Temporal is there, and gets on: lifecycles, loops and the Schedule. */
export async function examineWorkflows({ config, temporal, kubernetes, now }: DoctorContext): Promise<Finding> {
  let connection: Connection | undefined
  try {
    connection = await connectClient(temporal)
    const client = temporalClient(connection, temporal)
    return await workflowsFinding(
      { client, cluster: config.CLUSTER_NAME, now },
      async () =>
        (await readWhole(clusterScene(kubernetes), { claims: ownClaims({ machines: managesMachines(config) }) }))
          .claims,
      () => readRepairer(kubernetes, config.JOINER_NAMESPACE, now()),
    )
  } catch {
    return fail('not looked at: Temporal cannot be used', ['fix "temporal" first'])
  } finally {
    await connection?.close()
  }
}

/** What is found of workflows. `readAll`: reads the NodeClaims; `repairerOf` is asked where something is found. */
async function workflowsFinding(
  asked: LookContext,
  readAll: () => Promise<readonly NodeClaim[]>,
  repairerOf: () => Promise<Repairer>,
): Promise<Finding> {
  const claims = await readAll().catch((error: unknown) => whyOf(error))
  const isRead = typeof claims !== 'string'
  const findings = await lookOnce(asked, isRead ? claims : undefined, () => readAll().catch(() => undefined))
  const repairer: Repairer = findings.length > 0 ? await repairerOf() : { kind: 'there' }
  const found = findingGroups(findings, repairer).map(({ text, remedy, fault }) => {
    if (remedy === undefined) return warn(text, [])
    return (harmless.has(fault) ? warn : fail)(text, [remedy])
  })
  if (!isRead)
    found.push(
      warn(`lifecycles were not compared with NodeClaims, which could not be listed: ${claims}`, [
        'check the rights of this identity: kubectl auth can-i list nodeclaims',
      ]),
    )
  if (found.length > 0) return worst(found)
  return ok(
    `loops and the Schedule run, and so do the lifecycles of ${counted(isRead ? claims.length : 0, 'NodeClaim')}`,
  )
}
