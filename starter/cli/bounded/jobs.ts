/** What is done with files that anybody may have written, in a thread that can be ended. Each job prints, and returns its exit code. */
export const jobs = {
  advise: async (input: import('../advise/run.ts').AdviseInput) => (await import('../advise/run.ts')).advise(input),
  convert: async (input: import('../convert/convert-file.ts').ConvertInput) =>
    (await import('../convert/convert-file.ts')).convertFile(input),
  'instance-types': async (input: import('../instance-types/run.ts').InstanceTypesInput) =>
    (await import('../instance-types/run.ts')).runInstanceTypes(input),
  simulate: async (input: import('../simulate/simulate.ts').SimulateInput) =>
    (await import('../simulate/simulate.ts')).simulate(input),
  validate: async (input: import('../validate/validate-files.ts').ValidateInput) =>
    (await import('../validate/validate-files.ts')).validateFiles(input),
}

export type JobName = keyof typeof jobs
export type JobInput<Name extends JobName> = Parameters<(typeof jobs)[Name]>[0]
