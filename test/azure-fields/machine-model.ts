/**
 * The machine of AKS as its preview takes it, by the requests of the reference provider (reference/azure-provider.md 4.7): no release for npm has it. Enums and
 * profiles are those of agent pools in the release for the nearest version.
 */
export const machineModel = `
export interface PutMachine { zones?: string[]; properties?: PutMachineProperties }
export interface PutMachineProperties {
  network?: PutMachineNetwork
  hardware?: PutMachineHardware
  operatingSystem?: PutMachineOs
  kubernetes?: PutMachineKubernetes
  mode?: AgentPoolMode
  security?: PutMachineSecurity
  priority?: ScaleSetPriority
  localDNSProfile?: LocalDNSProfile
  nodeImageVersion?: string
  tags?: Record<string, string>
}
export interface PutMachineNetwork { vnetSubnetID?: string }
export interface PutMachineHardware { vmSize?: string; ultraSsdEnabled?: boolean; gpuProfile?: GPUProfile }
export interface PutMachineOs {
  osType?: OSType
  osSKU?: Ossku
  osDiskSizeGB?: number
  osDiskType?: OSDiskType
  enableFIPS?: boolean
  linuxProfile?: PutMachineLinux
}
export interface PutMachineLinux { linuxOSConfig?: LinuxOSConfig }
export interface PutMachineKubernetes {
  nodeLabels?: Record<string, string>
  orchestratorVersion?: string
  kubeletConfig?: KubeletConfig
  nodeInitializationTaints?: string[]
  nodeTaints?: string[]
  maxPods?: number
  artifactStreamingProfile?: AgentPoolArtifactStreamingProfile
}
export interface PutMachineSecurity {
  sshAccess?: AgentPoolSSHAccess
  enableEncryptionAtHost?: boolean
  enableVTPM?: boolean
  enableSecureBoot?: boolean
}
`
