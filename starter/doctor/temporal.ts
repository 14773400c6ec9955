import { Connection } from '@temporalio/client'
import proto from '@temporalio/proto'
import { searchAttributes } from '../../workflows/search-attributes.ts'
import { type Check, type Finding, fail, ok, reason, warn } from './check.ts'
import type { DoctorContext } from './context.ts'

const connectMs = 5000

/** Whether Temporal answers, has the namespace, and knows the search attributes. */
export function temporalCheck({ config }: DoctorContext): Check {
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
    return ok(`${told}, ${names.length} search attributes`)
  }
}
