import { attributeCommand, readAttributes } from '../namespace-attributes.ts'
import type { Finding, LookContext } from './finding.ts'

/**
 * Finds search attributes of lifecycles that somebody removed, or made again with another type: each workflow task fails that changes one. What the
 * namespace never had is no finding: lifecycles began without. Errors: what Temporal says.
 */
export async function lookAtAttributes({ client }: LookContext): Promise<readonly Finding[]> {
  const { connection, options } = client
  const { namespace } = options
  const found = await readAttributes(connection, namespace)
  if (found.kind !== 'known') return []
  return [
    ...found.missing.map(
      (name): Finding => ({
        object: `search attribute ${name}`,
        fault: 'search attribute missing',
        detail: 'nodes begin without search attributes, and lists in Temporal cannot be filtered by it',
        remedy: `if Joiner may not make it: ${attributeCommand([name], namespace)}`,
        repair: { kind: 'bootstrap' },
      }),
    ),
    ...found.wrong.map(
      (name): Finding => ({
        object: `search attribute ${name}`,
        fault: 'search attribute of another type',
        detail: 'it is no Keyword, so nodes begin without search attributes',
        remedy: `set temporal.namespace to a namespace of Joiner's own; or, if nobody else uses it: temporal operator search-attribute remove --name ${name} --namespace ${namespace}; Joiner makes it again`,
      }),
    ),
  ]
}
