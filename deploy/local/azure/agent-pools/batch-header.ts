import { ArmError } from '../server/arm-error.ts'
import type { AksMachineBody } from './agent-pools.ts'

interface BatchEntry {
  readonly machineName: string
  readonly zones?: readonly string[]
  readonly tags?: Readonly<Record<string, string>>
}

/** Most machines of one PUT. */
const mostMachines = 50

/**
 * Returns the machines that a PUT asks for: the one in its path, or those of its header `BatchPutMachine`, which share the body and have zones and tags of
 * their own (reference/azure-provider.md 4.7). Errors: a header that is none.
 */
export function machinesOfPut(
  name: string,
  body: AksMachineBody,
  header: string | undefined,
): readonly { readonly name: string; readonly body: AksMachineBody }[] {
  if (header === undefined) return [{ name, body }]
  return entriesOf(header).map(({ machineName, zones, tags }) => ({
    name: machineName,
    body: {
      ...body,
      ...(zones === undefined || zones.length === 0 ? {} : { zones }),
      properties: { ...body.properties, tags: tags ?? {} },
    },
  }))
}

function entriesOf(header: string): readonly BatchEntry[] {
  const refused = (why: string) =>
    new ArmError(400, 'BatchMachineClientError', `The header BatchPutMachine ${why}.`).bare()
  let entries: unknown
  try {
    entries = (JSON.parse(header) as { readonly batchMachines?: unknown } | null)?.batchMachines
  } catch {
    throw refused('is no JSON')
  }
  if (!Array.isArray(entries) || entries.length === 0) throw refused('has no list batchMachines')
  if (entries.length > mostMachines) throw refused(`names ${entries.length} machines, more than ${mostMachines}`)
  const named = entries.filter((entry) => typeof (entry as Partial<BatchEntry> | null)?.machineName === 'string')
  if (named.length < entries.length) throw refused('has a machine without machineName')
  return named as readonly BatchEntry[]
}
