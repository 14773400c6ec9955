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
      .regex(dnsZone)
      .describe('The DNS zone that the entry is for: a name such as example.com, or "." for all others.'),
    queryLogging: z.enum(['Error', 'Log']).describe('Whether only errors are logged, or every query.'),
    protocol: z.enum(['PreferUDP', 'ForceTCP']).describe('How the servers further up are asked.'),
    forwardDestination: z
      .enum(['ClusterCoreDNS', 'VnetDNS'])
      .describe("Who is asked: the cluster's CoreDNS, or the DNS servers of the virtual network."),
    forwardPolicy: z
      .enum(['Sequential', 'RoundRobin', 'Random'])
      .describe('In which order the servers further up are asked.'),
    maxConcurrent: z.int().min(0).meta({ format: 'int32' }).describe('How many queries may be under way at once.'),
    cacheDuration: durationField('1h').describe('How long answers are kept, such as 1h.'),
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
    .describe('Whether nodes answer DNS queries themselves; Preferred leaves it to AKS.'),
  vnetDNSOverrides: zoneOverrides([
    bothZones,
    {
      rule: "self.all(x, x.zone.endsWith('cluster.local') || x.forwardDestination != 'ClusterCoreDNS')",
      message: 'only cluster.local zones can be forwarded to ClusterCoreDNS from vnetDNSOverrides',
    },
  ]).describe('Settings by zone for queries of the node itself and of pods with dnsPolicy Default.'),
  kubeDNSOverrides: zoneOverrides([bothZones]).describe(
    'Settings by zone for queries of pods with dnsPolicy ClusterFirst.',
  ),
})

// Go's syntax for "without regard to case", which a JavaScript expression cannot hold: written into the CRD as it is.
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
      .describe('ARM id of the subnet of the nodes; that of the cluster when unset.'),
    osDiskSizeGB: z
      .int()
      .min(30)
      .max(2048)
      .default(128)
      .meta({ format: 'int32' })
      .describe('Size of the OS disk in GB; it is also what pods may have as ephemeral storage.'),
    imageFamily: z
      .enum(['Ubuntu', 'Ubuntu2204', 'Ubuntu2404', 'AzureLinux'])
      .default('Ubuntu')
      .describe(
        "Operating system of the nodes; Ubuntu means the release that AKS takes for the cluster's Kubernetes version.",
      ),
    fipsMode: z
      .enum(['FIPS', 'Disabled'])
      .optional()
      .describe('Whether the image must be one with FIPS-validated cryptography. FIPS also needs imageFamily.'),
    tags: z
      .record(z.string(), z.string())
      .optional()
      .describe('Tags of the Azure resources; a slash in a key becomes an underscore. A change replaces no node.')
      .register(crdExtensions, {
        cel: [
          { rule: 'self.all(k, size(k) <= 512)', message: 'tag keys must be at most 512 characters' },
          { rule: 'self.all(k, size(self[k]) <= 256)', message: 'tag values must be at most 256 characters' },
          {
            rule: "self.all(k, !k.matches('[<>%&?\\\\\\\\]'))",
            message: "tag keys must not contain '<', '>', '%', '&', '?' or a backslash",
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
      .describe('How many pods a node may run; when unset, what AKS takes for the network plugin.'),
    security: z
      .object({
        encryptionAtHost: z
          .boolean()
          .optional()
          .describe('Whether disks and caches are encrypted on the host; machine sizes that cannot are left out.'),
        trustedLaunch: z
          .object({
            vtpm: z.boolean().optional().describe('Whether the machine has a virtual TPM.'),
            secureBoot: z.boolean().optional().describe('Whether the machine boots signed software alone.'),
          })
          .optional()
          .describe('Trusted launch; on when one of its parts is.'),
      })
      .optional()
      .describe('Security of the machines.'),
    localDNS: localDns.optional().describe('DNS on the node itself.'),
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
      .describe('GPU nodes.'),
    artifactStreaming: z
      .object({
        enabled: z
          .boolean()
          .optional()
          .describe('Whether containers start while their image still loads. True leaves out Arm machines.'),
      })
      .optional()
      .describe('Streaming of container images.'),
    linuxOSConfig: linuxOsConfig.optional(),
  })
  .describe('What the machines are like: image, disk, network, kubelet. A change makes nodes drift, but for the tags.')
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
          requirements: imageRequirements().describe('The machines that the image is for.'),
        }),
      )
      .optional()
      .describe('The newest images of the family; the first one whose requirements a machine meets is its image.'),
    kubernetesVersion: z.string().optional().describe('The Kubernetes version of new nodes, such as 1.33.2.'),
    localDNSState: z
      .enum(['Enabled', 'Disabled'])
      .optional()
      .describe('Whether new nodes answer DNS queries themselves.'),
    conditions: conditionList.optional(),
  })
  .describe('What new nodes will be made from.')

/** An image's requirements name keys that users may not set. As upstream's, the CRD lists no operators: Joiner alone writes them. */
function imageRequirements() {
  const operator = z.string().describe("How the label's value relates to the values.") as z.ZodType<
    RequirementOperator,
    RequirementOperator
  >
  return z.array(
    z.object({
      key: z.string().describe('The label key.'),
      operator,
      values: z.array(z.string()).optional().describe('Label values.').register(crdExtensions, { listType: 'atomic' }),
    }),
  )
}
