import { RestError } from '@azure/core-rest-pipeline'
import type { NodeClass } from '../../../api/objects.ts'
import { nodeClassErrors } from '../../../core/node-class/node-class-validation.ts'
import { labelValueErrors } from '../../../core/requirements/label-syntax.ts'
import { errorText } from '../../../core/values/field-error.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { AzureConfig } from '../azure-config.ts'
import { parseSubnet } from '../launch/subnet.ts'
import { hasSubnetLabel } from '../node-config/node-labels.ts'
import type { AzureParts } from '../parts.ts'
import type { Finding } from './finding.ts'
import type { NodeClassSettings } from './node-class-settings.ts'
import { tagErrors } from './tag-errors.ts'

export type ValidationDeps = Pick<AzureParts, 'azure' | 'config'>

const type = 'ValidationSucceeded'
const shape =
  /^\/subscriptions\/[^/]+\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Compute\/diskEncryptionSets\/([^/]+)$/i

/**
 * Validates that VMs can be made as specified, and can join: Azure takes the tags, nodes accept the values, and a disk encryption set may be read
 * (reference/azure-provider.md 1.6).
 */
export async function validate(
  { azure, config }: ValidationDeps,
  nodeClass: NodeClass,
  settings: NodeClassSettings,
): Promise<Finding> {
  const wrongTags = tagErrors(config, nodeClass.spec).map(errorText)
  const invalid = [...wrongTags, ...valueErrors(nodeClass, settings, config)]
  if (invalid.length > 0) {
    const reason = wrongTags.length > 0 ? 'TagsInvalid' : 'NodeClassValidationFailed'
    const message = `AKSNodeClass ${settings.name}: ${invalid.join('; ')}`.slice(0, 2048)
    return { conditions: [{ type, status: 'False', reason, message }] }
  }
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

function valueErrors({ spec }: NodeClass, settings: NodeClassSettings, config: AzureConfig): readonly string[] {
  const errors = nodeClassErrors(settings.name, spec).map(errorText)
  const subnet = parseSubnet(settings.subnetId)?.name ?? ''
  if (!hasSubnetLabel(config) || labelValueErrors(subnet).length === 0) return errors
  return [
    ...errors,
    `the name of subnet "${subnet}" is none that the label kubernetes.azure.com/network-subnet of its nodes can have; use a subnet whose name has at most 63 letters, digits, "-", "_" and "." with a letter or digit at each end`,
  ]
}

/** Returns the finding for a failed read of a disk encryption set. Only a refusal says something about the node class. */
export function encryptionSetFinding(nodeClass: string, id: string, error: unknown): Finding {
  if (!(error instanceof RestError) || (error.statusCode !== 401 && error.statusCode !== 403)) return { error }
  const message = `AKSNodeClass ${nodeClass}: disk encryption set "${id}" may not be read: ${scrubbedMessage(error)}; give Joiner's identity the role Reader on it`
  return { conditions: [{ type, status: 'False', reason: 'DiskEncryptionSetRBACMissing', message }] }
}
