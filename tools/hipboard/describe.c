/* SPDX-License-Identifier: MIT
 *
 * describe man|bash: the manual page, and what bash completes, out of the words of --help. Run by
 * the build.
 */
#include <hipboard/hipboard.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

/* ---- the manual page ---- */

/* As it stands: neither a request nor a typographer's quote or dash. */
static void put_character(char c)
{
    switch (c) {
    case '\\': fputs("\\e", stdout); break;
    case '\'': fputs("\\(aq", stdout); break;
    case '`': fputs("\\(ga", stdout); break;
    case '^': fputs("\\(ha", stdout); break;
    case '~': fputs("\\(ti", stdout); break;
    case '-': fputs("\\-", stdout); break;
    default: putchar(c);
    }
}

static void put_words(const char *text, size_t size)
{
    if (size && *text == '.') fputs("\\&", stdout);
    for (size_t i = 0; i < size; i++)
        put_character(text[i]);
}

static void put_bold(const char *text)
{
    fputs("\\fB", stdout);
    put_words(text, strlen(text));
    fputs("\\fR", stdout);
}

/* Lines that end by '\n' stay lines, and those that begin with blanks keep them. */
static void put_text(const char *text)
{
    bool literal = false;
    for (const char *line = text;; line += strcspn(line, "\n") + 1) {
        size_t size = strcspn(line, "\n");
        if (literal != (*line == ' ')) fputs(literal ? ".fi\n" : ".nf\n", stdout);
        literal = *line == ' ';
        if (size)
            put_words(line, size);
        else
            fputs(".sp", stdout);
        putchar('\n');
        if (!line[size]) break;
        if (size && line[size + 1] != '\n' && !literal && line[size + 1] != ' ') puts(".br");
    }
    if (literal) puts(".fi");
}

static void put_option(const option_spec *o)
{
    char letter[] = {'-', o->letter, 0}, name[64];
    snprintf(name, sizeof name, "--%s", o->name);
    puts(".TP");
    if (o->letter) {
        put_bold(letter);
        fputs(", ", stdout);
    }
    put_bold(name);
    if (o->argument) {
        fputs(" \\fI", stdout);
        put_words(o->argument, strlen(o->argument));
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_text(o->help);
}

static void put_command(const command *c)
{
    printf(".SS %s\n", c->name);
    put_bold("hipboard");
    putchar(' ');
    put_bold(c->name);
    putchar(' ');
    put_words(c->synopsis, strlen(c->synopsis));
    puts("\n.PP");
    put_text(c->about);
    for (const option_spec *o = c->options; o->name; o++)
        put_option(o);
    if (!c->notes) return;
    puts(".PP");
    put_text(c->notes);
}

static void put_manual(void)
{
    printf(".TH HIPBOARD 1 \"\" \"hipboard %s\" \"User Commands\"\n.SH NAME\nhipboard \\- ",
           hb_version());
    put_text(program_summary);
    puts(".nh\n.SH SYNOPSIS\n\\fBhipboard\\fR \\fICOMMAND\\fR [OPTIONS] [ARGUMENTS]\n.SH "
         "COMMANDS\n.na");
    for (const command *const *c = all_commands; *c; c++)
        put_command(*c);
    puts(".SH ENVIRONMENT");
    for (const environment_variable *v = program_environment; v->names; v++) {
        puts(".TP");
        put_bold(v->names);
        putchar('\n');
        put_text(v->meaning);
    }
    puts(".SH NOTES");
    put_text(program_notes);
}

/* ---- bash ---- */

static void put_names(void)
{
    for (const command *const *c = all_commands; *c; c++)
        printf("%s ", (*c)->name);
}

/* The values that an option may have. */
static void put_choices(const char *name, const option_spec *o)
{
    if (!are_words(o->argument)) return;
    printf("        %s:--%s) words='", name, o->name);
    for (const char *c = o->argument; *c; c++)
        putchar(*c == '|' ? ' ' : *c);
    puts("' ;;");
}

static void put_completion(void)
{
    fputs("# What bash completes of hipboard's command lines; files otherwise.\n"
          "_hipboard()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=\n"
          "    if [ \"$COMP_CWORD\" = 1 ] || [ \"${COMP_WORDS[1]}\" = help ]; then\n"
          "        words='",
          stdout);
    put_names();
    puts("help --help --version'\n    else\n        case ${COMP_WORDS[1]}:$before in");
    for (const command *const *c = all_commands; *c; c++)
        for (const option_spec *o = (*c)->options; o->name; o++)
            put_choices((*c)->name, o);
    puts("        *)\n            case ${COMP_WORDS[1]}:$word in");
    for (const command *const *c = all_commands; *c; c++) {
        printf("            %s:-*) words='", (*c)->name);
        for (const option_spec *o = (*c)->options; o->name; o++)
            printf("--%s ", o->name);
        puts("--help' ;;");
    }
    puts("            esac ;;\n        esac\n    fi\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _hipboard hipboard");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "man") == 0)
        put_manual();
    else if (strcmp(what, "bash") == 0)
        put_completion();
    else
        return EXIT_USAGE;
    return flush_output("describe", stdout, EXIT_FINE, EXIT_FAILED);
}
