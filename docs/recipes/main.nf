// Fetches each file of a list (a TSV file with the columns path, url and md5) as
// a task, and keeps it below the directory "store":
//
//   nextflow run main.nf --list list.tsv --store data
params.list = 'list.tsv'
params.store = 'data'

process FETCH {
    tag "${name}"
    storeDir { "${params.store}/${dir}" }
    errorStrategy 'retry'
    maxRetries 2

    input:
    tuple val(dir), val(name), val(url), val(md5)

    output:
    path "${name}"

    script:
    """
    ftpfetch -q --per-host 4 --shared --checksum 'md5:${md5}' -o '${name}' '${url}'
    """
}

workflow {
    FETCH(channel.fromPath(params.list).splitCsv(header: true, sep: '\t').map { row ->
        def names = row.path.tokenize('/')
        tuple(names.init().join('/'), names.last(), row.url, row.md5)
    })
    FETCH.out.view { saved -> "fetched ${saved.name}" }
}
