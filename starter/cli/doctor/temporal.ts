import { Client, type Connection } from '@temporalio/client'
import { findClusterUid } from '../../../activities/azure/access/found-facts.ts'
import {
  installationProblem,
  ownInstallation,
  readOwnership,
} from '../../../activities/kubernetes/client/installation.ts'
import { managesMachines } from '../../../api/config.ts'
import { nameOwner, nameProblem } from '../../bridge/cluster-loops.ts'
import { currentBuild, ownDeployment } from '../../bridge/current-version.ts'
import { counted } from '../../document/words.ts'
import { clusterScene, ownClaims } from '../../picture/from-cluster.ts'
import { readWhole } from '../../picture/picture.ts'
import { mostNodes, recommendedHours, volumeProblem } from '../../temporal/bundled.ts'
import { checkNamespace, connectClient, connectMs } from '../../temporal/connect.ts'
import { readAttributes } from '../../temporal/namespace-attributes.ts'
import { explainTemporal, messageOf } from '../../temporal/problem.ts'
import { type DoctorContext, type Finding, fail, ok, warn, worst } from './check.ts'

const hourMs = 3_600_000
/** A lifecycle that ended during a night can be looked at in the morning. */
const leastHours = 24

type Asked = Pick<DoctorContext, 'config' | 'temporal' | 'unreached' | 'kubernetes' | 'now'>

/** The command that asks Temporal whether it is well. */
export const healthCommand = ({ temporal }: Pick<DoctorContext, 'temporal'>) =>
  `temporal operator cluster health --address ${temporal.address}`

/** Whether Temporal answers, lets Joiner in, has the namespace, keeps what ended for long enough, and knows the search attributes. */
export async function examineTemporal(asked: Asked): Promise<Finding> {
  const { temporal, unreached } = asked
  const health = healthCommand(asked)
  if (unreached !== undefined) return withVolume(asked, fail(unreached, [health]))
  let connection: Connection | undefined
  try {
    const connected = await connectClient(temporal)
    connection = connected
    await checkNamespace(connected, temporal.namespace)
    return await connected.withDeadline(Date.now() + connectMs, () => lookInto(asked, connected))
  } catch (error) {
    const { what, remedies } = await explainTemporal(temporal, error)
    const pods = `${health}; kubectl get pods --all-namespaces --selector app.kubernetes.io/name=temporal`
    return withVolume(asked, fail(what, [...remedies, pods]))
  } finally {
    await connection?.close()
  }
}

async function lookInto(asked: Asked, connection: Connection): Promise<Finding> {
  // What cannot be read hides nothing else.
  const seen = (what: string, look: Promise<Finding>) =>
    look.catch((error: unknown) => fail(`${what} could not be read: ${messageOf(error)}`, [healthCommand(asked)]))
  return worst(
    await Promise.all([
      seen('search attributes and worker versions', attributesOf(asked, connection)),
      seen('the retention', retentionOf(asked, connection)),
      ...(asked.config.JOINER_TEMPORAL_BUNDLED ? [seen('the number of NodeClaims', sizeOf(asked))] : []),
    ]),
  )
}

/** What keeps the volume of the chart's own Temporal from its pod comes first. */
async function withVolume({ config, kubernetes, now }: Asked, finding: Finding): Promise<Finding> {
  if (!config.JOINER_TEMPORAL_BUNDLED) return finding
  const problem = await volumeProblem({ client: kubernetes, namespace: config.JOINER_NAMESPACE, now: now() })
  return problem === undefined ? finding : worst([fail(problem.what, problem.remedies), finding])
}

/** Whether the cluster has outgrown the chart's own Temporal. */
async function sizeOf({ config, kubernetes }: Asked): Promise<Finding> {
  const parts = { claims: ownClaims({ machines: managesMachines(config) }) }
  const { claims } = await readWhole(clusterScene(kubernetes), parts)
  const reported = `${counted(claims.length, 'NodeClaim')}, and the bundled Temporal is for up to ${mostNodes}`
  return claims.length > mostNodes
    ? warn(reported, ['run a Temporal of your own, and set temporal.address: docs/temporal.md'])
    : ok(reported)
}

async function retentionOf({ temporal }: Asked, connection: Connection): Promise<Finding> {
  const { namespace } = temporal
  const { config } = await connection.workflowService.describeNamespace({ namespace })
  const { seconds } = config?.workflowExecutionRetentionTtl ?? {}
  const retentionMs = seconds === undefined || seconds === null ? undefined : Number(seconds) * 1000
  return retentionFinding(retentionMs, temporal)
}

async function attributesOf(asked: Asked, connection: Connection): Promise<Finding> {
  const { address, namespace } = asked.temporal
  const { serverVersion } = await connection.workflowService.getSystemInfo({})
  const reported = `Temporal ${serverVersion} at ${address}, namespace "${namespace}"`
  const attributes = await readAttributes(connection, namespace)
  if (attributes.kind === 'usable')
    return versionsOf(asked, connection, `${reported}, search attributes can be queried`)
  if (attributes.kind === 'unusable')
    return warn(
      `${reported}: search attributes cannot be listed, nor queried: ${attributes.message}; Joiner runs without them, and lists in Temporal cannot be filtered`,
      ['make them as docs/temporal.md says'],
    )
  // What is missing, or of another type, is a finding of the check `workflows`.
  return versionsOf(asked, connection, reported)
}

/** Which version gets the workflow tasks, where workers are to have one. */
async function versionsOf({ config, temporal }: Asked, connection: Connection, reported: string): Promise<Finding> {
  const { address, namespace } = temporal
  const { JOINER_WORKER_VERSIONING: isOwn, TEMPORAL_DEPLOYMENT_NAME: given, CLUSTER_NAME: cluster } = config
  if (!isOwn && given === undefined) return ok(reported)
  const deployment = given ?? ownDeployment(cluster)
  const current = await currentBuild(connection, namespace, deployment)
  if (current.kind === 'unsupported')
    return fail(`${reported}; it knows no worker versions, and workers that have one get no tasks`, [
      'use Temporal 1.29.1 or newer, or turn worker versioning off (chart: temporal.workerVersioning=false)',
    ])
  if (current.kind === 'build' && current.buildId !== '')
    return ok(`${reported}; worker version ${current.buildId} of ${deployment} is current`)
  return warn(`${reported}; no worker version of ${deployment} is current yet, so workers that have one get no tasks`, [
    given === undefined
      ? 'start Joiner: the process that holds the Lease joiner-bridge makes its version current'
      : `temporal worker deployment set-current-version --deployment-name ${deployment} --build-id BUILD --namespace ${namespace} --address ${address}`,
  ])
}

/** Returns whether a namespace keeps what ended for long enough to look into it. `retentionMs`: undefined where Temporal does not say. */
export function retentionFinding(
  retentionMs: number | undefined,
  { namespace, address }: { readonly namespace: string; readonly address: string },
): Finding {
  if (retentionMs === undefined)
    return ok(`namespace "${namespace}": Temporal does not say how long it keeps what ended`)
  const hours = retentionMs / hourMs
  const kept = `namespace "${namespace}" keeps what ended for ${hours >= 1 ? `${Math.floor(hours)} h` : `${Math.round(hours * 60)} min`}`
  const update = `temporal operator namespace update --namespace ${namespace} --retention ${recommendedHours}h --address ${address}`
  if (hours < leastHours)
    return warn(`${kept}, less than a day: a lifecycle that failed may be gone before somebody looks into it`, [update])
  if (hours < recommendedHours) return ok(`${kept}; ${recommendedHours} h are recommended: ${update}`)
  return ok(kept)
}

/** Whether the CRDs are this installation's, and the cluster's name in Temporal is this cluster's. */
export async function examineInstallation({ kubernetes, config, temporal }: DoctorContext): Promise<Finding> {
  return worst(await Promise.all([installation(), name()]))

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
