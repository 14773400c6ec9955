// Names in the text of an Azure error: policies, resources, images, and the missing role.

/** Returns the name in a text after a marker, up to the next quote. */
export const named = (text: string, pattern: RegExp) => pattern.exec(text)?.[1]
const quoted = String.raw`\\?['"]`

/** Returns the role and where to assign it. Azure's text names the principal, the action and the scope. */
export function roleRemedy(text: string): string {
  const linked = /perform action(?:\(s\))? ['"]?([^'"]+?)['"]? on the linked scope(?:\(s\))? ['"]?([^'"\s]+)/i.exec(
    text,
  )
  const own = /perform action ['"]?([^'"\s]+)['"]? (?:over|on) scope ['"]?([^'"\s]+)/i.exec(text)
  const [, action, scope] = linked ?? own ?? []
  const who = named(text, /object id ['"]([^'"]+)['"]/i)
  if (action === undefined || scope === undefined)
    return 'Joiner\'s identity lacks a role; assign "Virtual Machine Contributor", "Network Contributor" and "Managed Identity Operator" on the node resource group, and "Network Contributor" on that of the network'
  const assign = `az role assignment create --assignee-object-id ${who ?? 'OBJECT_ID'} --assignee-principal-type ServicePrincipal --role "${roleFor(action)}" --scope ${scope}`
  return `Joiner's identity may not ${action} on ${scope}; run: ${assign}`
}

/** Returns the least of Azure's roles that Joiner's documentation names for an action (reference/azure-provider.md 9.4). */
function roleFor(action: string): string {
  const lower = action.toLowerCase()
  if (lower.includes('userassignedidentities')) return 'Managed Identity Operator'
  if (lower.startsWith('microsoft.network/')) return 'Network Contributor'
  if (lower.includes('diskencryptionsets') || lower.includes('/galleries/')) return 'Reader'
  return 'Virtual Machine Contributor'
}

/** Returns the policies that a denial names: display names where Azure gives them, else ids. */
export function policyNames(text: string): string {
  const fields = ['policyAssignmentDisplayName', 'policyDefinitionDisplayName', 'policyAssignmentName']
  const own = fields.flatMap((field) => [
    ...text.matchAll(new RegExp(`${quoted}${field}${quoted}\\s*:\\s*${quoted}([^"'\\\\]+)`, 'g')),
  ])
  const inMessage = [
    ...text.matchAll(
      new RegExp(`${quoted}policyAssignment${quoted}:\\{${quoted}name${quoted}:${quoted}([^"'\\\\]+)`, 'g'),
    ),
  ]
  const ids = [...text.matchAll(/\/providers\/Microsoft\.Authorization\/policyAssignments\/([^\s"'\\,]+)/gi)]
  const names = [...new Set([...own, ...inMessage, ...ids].map(([, name = '']) => name))]
  return names.length === 0 ? 'see what Azure says' : names.slice(0, 3).join(', ')
}

export function resourceIn(text: string, type: string): string | undefined {
  return named(text, new RegExp(`(/subscriptions/[^\\s'"\\\\,]+/${type}/[^\\s'"\\\\,/]+)`, 'i'))
}

export function imageIn(text: string): string {
  const image = named(text, /((?:\/CommunityGalleries|\/subscriptions)\/[^\s'"\\,]+\/versions\/[^\s'"\\,]+)/i)
  return image === undefined ? '' : `${image} `
}

/** Returns what helps where the authority that hands out tokens is not reached, which MSAL names by these codes; undefined: it was reached. */
export function loginRemedy(text: string): string | undefined {
  return /endpoints_resolution_error|openid_config_error|network_error/.test(text)
    ? "check the network from here to AZURE_AUTHORITY_HOST (https://login.microsoftonline.com unless it is set): what hands out Azure's tokens is not reached"
    : undefined
}
