import { missingFields, parseNodeConfig } from '../../../api/node-config/parse.ts'
import type { NodeConfig } from '../../../api/node-config/schema.ts'
import { LaunchBlocked } from '../arm/azure-failure.ts'
import { grammarErrors } from './grammar.ts'

const boundary = '==joiner-node-config=='
const containers = '/opt/azure/containers'
const configPath = `${containers}/aks-node-controller-config.json`

/** Largest custom data that Azure accepts, 64 KiB. */
const mostBytes = 65_535

/**
 * Returns cloud-init's document around a node configuration, base64 as `osProfile.customData` requires it (reference/bootstrap.md 2). Errors:
 * LaunchBlocked where a node could not use the configuration, where a text does not have the form of its field, and where it is too large.
 */
export function customData(nodeConfig: NodeConfig): string {
  assertUsable(nodeConfig)
  const refused = grammarErrors(nodeConfig)
  if (refused.length > 0)
    throw new LaunchBlocked('NodeConfigurationRefused', `node configuration: ${refused.slice(0, 3).join('; ')}`)
  return cloudInitDocument(nodeConfig)
}

/** Returns the document without a check of its contents. Errors: it is too large for Azure. */
export function cloudInitDocument(nodeConfig: Readonly<Record<string, unknown>>): string {
  const payload = Buffer.from(JSON.stringify(nodeConfig)).toString('base64')
  const document =
    `MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n` +
    part('text/cloud-boothook', boothook(payload)) +
    part('text/cloud-config', "#cloud-config\nruncmd:\n  - echo 'node configuration written'\n") +
    `--${boundary}--\r\n`
  if (document.length > mostBytes) {
    throw new LaunchBlocked(
      'NodeConfigurationRefused',
      `node configuration: ${document.length} bytes of custom data, and Azure takes ${mostBytes}; name fewer CAs in JOINER_NODE_CUSTOM_CA_FILE, or fewer labels and taints in the NodePool`,
    )
  }
  return Buffer.from(document).toString('base64')
}

/**
 * Checks a configuration. A node ignores unknown fields and requires some others; an error would only show by the node never joining. Errors: the
 * problem, by its path and without its value, since a configuration holds a token.
 */
export function assertUsable(nodeConfig: NodeConfig): void {
  const { problems } = parseNodeConfig(nodeConfig)
  const unknown = problems.map(({ path, kind, what }) =>
    kind === 'unknown' ? `${path} is no known ${what}` : `${path} is ${what}`,
  )
  const missing = missingFields(nodeConfig).map((path) => `${path} is missing`)
  const wrong = [...unknown, ...missing]
  if (wrong.length === 0) return
  throw new LaunchBlocked(
    'NodeConfigurationRefused',
    `node configuration: ${wrong.join(', ')}; a node would never join with it. Check VNET_SUBNET_ID, LOCATION and CLUSTER_ENDPOINT`,
  )
}

const part = (type: string, body: string) =>
  `--${boundary}\r\nContent-Type: ${type}\r\nMIME-Version: 1.0\r\nContent-Transfer-Encoding: 7bit\r\n\r\n${body}\r\n`

/** Returns the script that runs before the node's network is up. The order of its steps is part of the contract; only the file is for root alone. */
function boothook(payload: string): string {
  const preload = `${containers}/provision_preload.sh`
  const launcher = `${containers}/aks-node-controller-launcher.sh`
  return `#cloud-boothook
#!/bin/bash
mkdir -p ${containers} /var/log/azure
if [ -f ${preload} ]; then
  nohup /bin/bash ${preload} >/dev/null 2>&1 &
fi
(
umask 077
base64 -d <<'JOINER_CONFIG' > ${configPath}
${payload}
JOINER_CONFIG
)
chmod 0600 ${configPath}
if [ -f ${launcher} ]; then
  nohup /bin/bash ${launcher} >/var/log/azure/aks-node-controller.output 2>&1 &
else
  systemctl start --no-block aks-node-controller.service
fi
`
}
