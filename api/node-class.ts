import { z } from 'zod'
import type { RequirementOperator } from '../core/objects.ts'
import { conditionList, crdExtensions, durationField } from './fields.ts'
import { kubelet, linuxOsConfig } from './node-class-os.ts'

const dnsZone =
  /^(\.|[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*\.?)$/

const zoneOverride = z
  .object({
    zone: z
      .string()
      .min(1)
      .max(254)
      .regex(dnsZone, 'write a DNS zone such as example.com, or "."')
      .describe('The DNS zone that the entry is for: a name such as example.com, or "." for all others.'),
    queryLogging: z.enum(['Error', 'Log']).describe('Query logging: errors only, or every query.'),
    protocol: z.enum(['PreferUDP', 'ForceTCP']).describe('Protocol used to query upstream DNS servers.'),
    forwardDestination: z
      .enum(['ClusterCoreDNS', 'VnetDNS'])
      .describe("Upstream DNS servers: the cluster's CoreDNS, or those of the virtual network."),
    forwardPolicy: z
      .enum(['Sequential', 'RoundRobin', 'Random'])
      .describe('Order in which upstream DNS servers are queried.'),
    maxConcurrent: z.int().min(0).meta({ format: 'int32' }).describe('Maximum number of concurrent queries.'),
    cacheDuration: durationField('1h').describe('Duration that answers are cached, such as 1h.'),
    serveStaleDuration: durationField('1h').describe(
      'How long beyond that an old answer may still be given, such as 1h.',
    ),
    serveStale: z
      .enum(['Verify', 'Immediate', 'Disable'])
      .describe(
        'When an old answer is given: Verify first asks further up, Immediate gives it at once and then asks, Disable never gives one.',
      ),
  })
  .register(crdExtensions, {
    cel: [
      {
        rule: "!(self.serveStale == 'Verify' && self.protocol == 'ForceTCP')",
        message: 'serveStale Verify cannot be used with protocol ForceTCP',
      },
      {
        rule: "!(self.zone.endsWith('cluster.local') && self.forwardDestination == 'VnetDNS')",
        message: "zone 'cluster.local' and those that end so cannot be forwarded to VnetDNS",
      },
    ],
  })

const bothZones = {
  rule: "['.', 'cluster.local'].all(z, self.exists(x, x.zone == z))",
  message: "must contain the zones '.' and 'cluster.local'",
}
const zoneOverrides = (cel: readonly { rule: string; message: string }[]) =>
  z
    .array(zoneOverride)
    .max(100)
    .register(crdExtensions, { listType: 'map', listMapKeys: ['zone'], cel })

const localDns = z.object({
  mode: z
    .enum(['Preferred', 'Required', 'Disabled'])
    .describe('Mode of node-local DNS. Preferred leaves the decision to AKS.'),
  vnetDNSOverrides: zoneOverrides([
    bothZones,
    {
      rule: "self.all(x, x.zone.endsWith('cluster.local') || x.forwardDestination != 'ClusterCoreDNS')",
      message: 'only cluster.local zones can be forwarded to ClusterCoreDNS from vnetDNSOverrides',
    },
  ]).describe('Overrides by DNS zone for queries of the node and of pods with dnsPolicy Default.'),
  kubeDNSOverrides: zoneOverrides([bothZones]).describe(
    'Settings by zone for queries of pods with dnsPolicy ClusterFirst.',
  ),
})

// Go's syntax for case-insensitive matching, which JavaScript does not have: it is written into the CRD unchanged.
const subnetPattern =
  '(?i)^/subscriptions/[^/]+/resourceGroups/[a-zA-Z0-9_\\-().]{0,89}[a-zA-Z0-9_\\-()]/providers/Microsoft\\.Network/virtualNetworks/[^/]+/subnets/[^/]+$'

const isFips = "(has(self.fipsMode) && self.fipsMode == 'FIPS')"
const trusted = (field: string) => `(has(self.security.trustedLaunch.${field}) && self.security.trustedLaunch.${field})`
const isTrusted = `(has(self.security) && has(self.security.trustedLaunch) && (${trusted('vtpm')} || ${trusted('secureBoot')}))`

export const nodeClassSpec = z
  .object({
    vnetSubnetID: z
      .string()
      .optional()
      .meta({ pattern: subnetPattern })
      .describe("ARM id of the subnet of the nodes. Defaults to the cluster's subnet."),
    osDiskSizeGB: z
      .int()
      .min(30)
      .max(2048)
      .default(128)
      .meta({ format: 'int32' })
      .describe(
        "Size of the OS disk in GiB; the nodes' ephemeral storage counts as that many GB. The disk is on a local disk of the VM size that is large enough (NVMe, cache or temporary disk), if there is one; Trusted Launch takes 1 GiB of it.",
      ),
    osDiskType: z
      .enum(['Managed'])
      .optional()
      .describe('Managed keeps the OS disk on a managed disk where a local disk of the VM size would hold it, too.'),
    imageFamily: z
      .enum(['Ubuntu', 'Ubuntu2204', 'Ubuntu2404', 'AzureLinux'])
      .default('Ubuntu')
      .describe(
        "Operating system of the nodes; Ubuntu means the release that AKS takes for the cluster's Kubernetes version.",
      ),
    fipsMode: z
      .enum(['FIPS', 'Disabled'])
      .optional()
      .describe('Requires an image with FIPS-validated cryptography. FIPS requires imageFamily.'),
    tags: z
      .record(z.string(), z.string())
      .optional()
      .describe(
        "Tags of the Azure resources, before those of Joiner's setting azure.additionalTags. A slash in a key becomes an underscore. To Azure, keys that differ by case are one. At most 50 with those of the setting and Joiner's own, of which VMs have 5 and AKS machines 7; tags that Joiner sets are ignored here. Changes are applied to VMs without replacing nodes.",
      )
      // Bounds the cost of the rule about twins; how many tags Azure takes is a condition of the class.
      .meta({ maxProperties: 100 })
      .register(crdExtensions, {
        cel: [
          { rule: 'self.all(k, size(k) <= 512)', message: 'tag keys must be at most 512 characters' },
          { rule: 'self.all(k, size(self[k]) <= 256)', message: 'tag values must be at most 256 characters' },
          {
            rule: "self.all(k, !k.matches('[<>%&?\\\\\\\\]'))",
            message: "tag keys must not contain '<', '>', '%', '&', '?' or a backslash",
          },
          {
            rule: "self.all(a, self.exists_one(b, a.replace('/', '_').lowerAscii() == b.replace('/', '_').lowerAscii()))",
            message:
              'tag keys must differ by more than case, since Azure ignores it, and by more than a slash in place of an underscore',
          },
        ],
      }),
    kubelet: kubelet.optional(),
    maxPods: z
      .int()
      .min(10)
      .max(250)
      .optional()
      .meta({ format: 'int32' })
      .describe("Maximum number of pods per node. Defaults to AKS' value for the network plugin."),
    security: z
      .object({
        encryptionAtHost: z
          .boolean()
          .optional()
          .describe('Encrypts disks and caches on the host. Excludes sizes that do not support it.'),
        trustedLaunch: z
          .object({
            vtpm: z.boolean().optional().describe('Enables the virtual TPM.'),
            secureBoot: z.boolean().optional().describe('Enables secure boot.'),
          })
          .optional()
          .describe('Trusted launch, enabled when one of its settings is.'),
      })
      .optional()
      .describe('Security settings of the virtual machines.'),
    localDNS: localDns.optional().describe('Node-local DNS.'),
    gpu: z
      .object({
        mode: z
          .enum(['Driver', 'None'])
          .default('Driver')
          .describe(
            'Driver lets AKS install the driver, and leaves out sizes whose GPU it has none for. None installs nothing and allows all sizes: for a GPU operator.',
          ),
      })
      .optional()
      .describe('Settings of GPU nodes.'),
    artifactStreaming: z
      .object({
        enabled: z
          .boolean()
          .optional()
          .describe('Starts containers while their images are still loading. Excludes Arm sizes.'),
      })
      .optional()
      .describe('Streaming of container images.'),
    linuxOSConfig: linuxOsConfig.optional(),
  })
  .describe('Desired image, disk, network and kubelet of the nodes. Changes cause drift, except tags.')
  .register(crdExtensions, {
    cel: [
      {
        rule: `!${isFips} || (has(self.imageFamily) && self.imageFamily != 'Ubuntu2404')`,
        message: 'FIPS is not available for Ubuntu2404',
      },
      {
        rule: `!${isFips} || (has(self.imageFamily) && (self.imageFamily != 'Ubuntu2204' || ${isTrusted}))`,
        message: 'FIPS with Ubuntu2204 needs security.trustedLaunch (vtpm or secureBoot)',
      },
      {
        rule: `!${isFips} || !${isTrusted} || !has(self.imageFamily) || self.imageFamily in ['Ubuntu', 'Ubuntu2204']`,
        message: 'FIPS with security.trustedLaunch is only available for Ubuntu and Ubuntu2204',
      },
      {
        rule: '!has(self.linuxOSConfig) || !has(self.linuxOSConfig.swapFileSize) || (has(self.kubelet) && has(self.kubelet.failSwapOn) && !self.kubelet.failSwapOn)',
        message: 'linuxOSConfig.swapFileSize needs kubelet.failSwapOn to be false',
      },
    ],
  })

export const nodeClassStatus = z
  .object({
    images: z
      .array(
        z.object({
          id: z.string().describe('Id of the image.'),
          requirements: imageRequirements().describe('Requirements of the nodes that the image is for.'),
        }),
      )
      .optional()
      .describe('Newest images of the family. A node uses the first one whose requirements it meets.'),
    kubernetesVersion: z.string().optional().describe('Kubernetes version of new nodes, such as 1.33.2.'),
    localDNSState: z.enum(['Enabled', 'Disabled']).optional().describe('Whether new nodes use node-local DNS.'),
    conditions: conditionList.optional(),
  })
  .describe('Observed state of the AKSNodeClass.')

/** An image's requirements name keys that users may not set. As upstream's, the CRD lists no operators: Joiner alone writes them. */
function imageRequirements() {
  const operator = z.string().describe('Operator that relates the label to the values.') as z.ZodType<
    RequirementOperator,
    RequirementOperator
  >
  return z.array(
    z.object({
      key: z.string().describe('Label key.'),
      operator,
      values: z.array(z.string()).optional().describe('Label values.').register(crdExtensions, { listType: 'atomic' }),
    }),
  )
}
