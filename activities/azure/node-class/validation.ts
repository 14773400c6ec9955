import { RestError } from '@azure/core-rest-pipeline'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { AzureDeps } from '../dependencies.ts'
import type { Finding } from './finding.ts'
import type { NodeClassSettings } from './node-class-settings.ts'

const type = 'ValidationSucceeded'
const shape =
  /^\/subscriptions\/[^/]+\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Compute\/diskEncryptionSets\/([^/]+)$/i

/** Whether VMs can be made as they are asked for: with a disk encryption set, that it may be read (reference/azure-provider.md 1.6). */
export async function validate({ azure, config }: AzureDeps, settings: NodeClassSettings): Promise<Finding> {
  const id = config.diskEncryptionSetId
  if (id === undefined) return { conditions: [{ type, status: 'True' }] }
  const [, resourceGroup, name] = shape.exec(id) ?? []
  if (resourceGroup === undefined || name === undefined)
    return { error: new Error(`disk encryption set "${id}" is not an id; correct the setting of the process`) }
  try {
    await azure.compute.diskEncryptionSets.get(resourceGroup, name)
    return { conditions: [{ type, status: 'True' }] }
  } catch (error) {
    return encryptionSetFinding(settings.name, id, error)
  }
}

/** What a failed read of a disk encryption set means. Only a refusal tells something about the node class. */
export function encryptionSetFinding(nodeClass: string, id: string, error: unknown): Finding {
  if (!(error instanceof RestError) || (error.statusCode !== 401 && error.statusCode !== 403)) return { error }
  const message = `AKSNodeClass ${nodeClass}: disk encryption set "${id}" may not be read: ${scrubbedMessage(error)}; give Joiner's identity the role Reader on it`
  return { conditions: [{ type, status: 'False', reason: 'DiskEncryptionSetRBACMissing', message }] }
}
