import { Connection } from '@temporalio/client'
import proto from '@temporalio/proto'
import { searchAttributes } from '../../workflows/search-attributes.ts'
import { currentBuild, ownDeployment } from '../current-version.ts'
import { type Check, type Finding, fail, ok, reason, warn } from './check.ts'
import type { DoctorContext } from './context.ts'

const connectMs = 5000

/** Whether Temporal answers, has the namespace, and knows the search attributes. */
export function temporalCheck({ config }: Pick<DoctorContext, 'config'>): Check {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config
  const remedy = `check TEMPORAL_ADDRESS "${address}" (chart: temporal.address) and that the frontend runs: temporal operator cluster health --address ${address}`
  return {
    name: 'temporal',
    remedy,
    run: async () => {
      let connection: Connection
      try {
        connection = await Connection.connect({ address, connectTimeout: connectMs })
      } catch (error) {
        return fail(`${address} cannot be reached: ${reason(error)}`, [
          remedy,
          'kubectl get pods --all-namespaces --selector app.kubernetes.io/name=temporal',
        ])
      }
      try {
        return await connection.withDeadline(Date.now() + connectMs, () => lookInto(connection))
      } finally {
        await connection.close()
      }
    },
  }

  async function lookInto(connection: Connection): Promise<Finding> {
    const { serverVersion } = await connection.workflowService.getSystemInfo({})
    try {
      await connection.workflowService.describeNamespace({ namespace })
    } catch (error) {
      return fail(`Temporal ${serverVersion} at ${address} has no namespace "${namespace}": ${reason(error)}`, [
        `temporal operator namespace create --namespace ${namespace} --address ${address}, or set TEMPORAL_NAMESPACE (chart: temporal.namespace)`,
      ])
    }
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
    const keyword = proto.temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
    const names = Object.values(searchAttributes).map(({ name }) => name)
    const told = `Temporal ${serverVersion} at ${address}, namespace "${namespace}"`
    const wrong = names.filter((name) => customAttributes?.[name] !== undefined && customAttributes[name] !== keyword)
    const flags = { namespace: `--namespace ${namespace} --address ${address}` }
    if (wrong.length > 0)
      return fail(`${told}: search attributes of another type than Keyword: ${wrong.join(', ')}`, [
        `use a namespace of Joiner's own: temporal operator namespace create --namespace joiner --address ${address}, and set temporal.namespace`,
      ])
    const missing = names.filter((name) => customAttributes?.[name] === undefined)
    if (missing.length > 0)
      return warn(
        `${told}: search attributes ${missing.join(', ')} are missing; Joiner registers them when it starts`,
        [
          `if it may not: temporal operator search-attribute create ${missing.map((name) => `--name ${name} --type Keyword`).join(' ')} ${flags.namespace}`,
        ],
      )
    return versionsOf(connection, `${told}, ${names.length} search attributes`)
  }
  /** Which version gets the workflow tasks, where workers are to have one. */
  async function versionsOf(connection: Connection, told: string): Promise<Finding> {
    const { JOINER_WORKER_VERSIONING: isOwn, TEMPORAL_DEPLOYMENT_NAME: given, CLUSTER_NAME: cluster } = config
    if (!isOwn && given === undefined) return ok(told)
    const deployment = given ?? ownDeployment(cluster)
    const current = await currentBuild(connection, namespace, deployment)
    if (current.kind === 'unsupported')
      return fail(`${told}; it knows no worker versions, and workers that have one get no tasks`, [
        'use Temporal 1.29.1 or newer, or turn worker versioning off (chart: temporal.workerVersioning=false)',
      ])
    if (current.kind === 'build' && current.buildId !== '')
      return ok(`${told}; worker version ${current.buildId} of ${deployment} is current`)
    return warn(`${told}; no worker version of ${deployment} is current yet, so workers that have one get no tasks`, [
      given === undefined
        ? 'start Joiner: the process that holds the Lease joiner-bridge makes its version current'
        : `temporal worker deployment set-current-version --deployment-name ${deployment} --build-id BUILD --namespace ${namespace} --address ${address}`,
    ])
  }
}
