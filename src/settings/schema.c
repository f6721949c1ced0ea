/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The JSON Schema of settings, for editors: written from the table of keys. */

#include <string.h>

#include "settings/keys.h"
#include "vocab/protected-classes.h"

static const char *const shapes[] = {
    [SHAPE_ANY] = "{}",
    [SHAPE_OBJECT] = "{\"type\": \"object\"}",
    [SHAPE_TEXT] = "{\"type\": \"string\"}",
    [SHAPE_BOOL] = "{\"type\": \"boolean\"}",
    [SHAPE_COUNT] = "{\"type\": \"integer\", \"minimum\": 0}",
    [SHAPE_PORT] = "{\"$ref\": \"#/$defs/port\"}",
    [SHAPE_STRINGS] = "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}",
    [SHAPE_PATHS] = "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/path\"}}",
    [SHAPE_DOMAINS] = "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/host\"}}",
    [SHAPE_DENIED_DOMAINS] = "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/deniedHost\"}}",
    [SHAPE_REQUESTS] = "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/request\"}}",
    [SHAPE_DENIED_REQUESTS] = "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/request\"}}",
    [SHAPE_CREDENTIALS] = "{\"type\": \"array\", \"items\": {\"type\": \"string\", "
                          "\"pattern\": \"^[A-Za-z_][A-Za-z0-9_]*(=.+)? *-> *[^ ]\"}}",
    [SHAPE_LOGINS] = "{\"type\": \"array\", \"items\": {\"type\": \"string\", "
                     "\"pattern\": \"^.+ *-> *[^ ]\"}}",
    [SHAPE_ADDRESSES] = "{\"type\": \"array\", \"items\": {\"type\": \"string\", "
                        "\"pattern\": \"^[0-9A-Fa-f:.]+(/[0-9]+)?$\"}}",
    [SHAPE_PORTS] = "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/port\"}}",
    [SHAPE_MACH] = "{\"type\": \"array\", \"items\": {\"type\": \"string\", "
                   "\"pattern\": \"^[^*]*[*]?$\", \"minLength\": 1}}",
    [SHAPE_COMMANDS] = "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/command\"}}",
    [SHAPE_REASONS] = "{\"type\": \"object\", \"additionalProperties\": {\"type\": \"string\", "
                      "\"minLength\": 1}}",
    [SHAPE_IGNORES] = "{\"type\": \"object\", \"additionalProperties\": {\"type\": \"array\", "
                      "\"items\": {\"type\": \"string\"}}}",
    [SHAPE_MASKS] = "{\"type\": \"object\", \"properties\": {"
                    "\"files\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/mask\"}}, "
                    "\"envVars\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/mask\"}}, "
                    "\"allowPlaintextInject\": {\"type\": \"boolean\"}, "
                    "\"awsPairs\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}}, "
                    "\"sigv4\": {\"type\": \"object\"}}, \"additionalProperties\": false}",
    [SHAPE_PROXY] = "{\"type\": \"object\", \"properties\": {\"http\": {\"$ref\": "
                    "\"#/$defs/proxy\"}, \"https\": {\"$ref\": \"#/$defs/proxy\"}, "
                    "\"noProxy\": {\"type\": \"string\"}}, \"additionalProperties\": false}",
    [SHAPE_TERMINATE] =
        "{\"type\": \"object\", \"properties\": {\"caCertPath\": {\"type\": \"string\"}, "
        "\"caKeyPath\": {\"type\": \"string\"}, \"excludeDomains\": {\"type\": \"array\", "
        "\"items\": {\"$ref\": \"#/$defs/host\"}}, \"extraCaCertPaths\": {\"type\": \"array\", "
        "\"items\": {\"type\": \"string\"}}, \"maxTunnels\": {\"type\": \"integer\", "
        "\"minimum\": 1, \"maximum\": 65536}, \"handshakeTimeoutMs\": {\"type\": \"integer\", "
        "\"minimum\": 100, \"maximum\": 600000}}, \"additionalProperties\": false}",
    [SHAPE_MITM] =
        "{\"type\": \"object\", \"properties\": {\"socketPath\": {\"type\": \"string\", "
        "\"minLength\": 1}, \"domains\": {\"type\": \"array\", \"minItems\": 1, \"items\": "
        "{\"$ref\": \"#/$defs/host\"}}}, \"required\": [\"socketPath\", \"domains\"], "
        "\"additionalProperties\": false}",
    [SHAPE_TARGETS] = "{\"enum\": [\"refuse\", \"asSpelled\", \"normalize\"]}",
};

static const char defs[] =
    "  \"$defs\": {\n"
    "    \"port\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 65535},\n"
    "    \"path\": {\n"
    "      \"oneOf\": [\n"
    "        {\"type\": \"string\", \"minLength\": 1},\n"
    "        {\n"
    "          \"type\": \"object\",\n"
    "          \"properties\": {\"path\": {\"type\": \"string\", \"minLength\": 1}, \"literal\": "
    "{\"const\": true}},\n"
    "          \"required\": [\"path\", \"literal\"],\n"
    "          \"additionalProperties\": false\n"
    "        }\n"
    "      ]\n"
    "    },\n"
    "    \"mask\": {\n"
    "      \"type\": \"object\",\n"
    "      \"properties\": {\n"
    "        \"name\": {\"type\": \"string\"}, \"path\": {\"type\": \"string\"},\n"
    "        \"mode\": {\"enum\": [\"deny\", \"mask\"]}, \"extract\": {\"type\": \"string\"},\n"
    "        \"decode\": {\"enum\": [\"jwt\"]},\n"
    "        \"maskClaims\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},\n"
    "        \"maskDuplicates\": {\"type\": \"boolean\"},\n"
    "        \"onExtractNoMatch\": {\"enum\": [\"warn\", \"deny\", \"error\"]},\n"
    "        \"injectHosts\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}\n"
    "      },\n"
    "      \"required\": [\"mode\"],\n"
    "      \"additionalProperties\": false\n"
    "    },\n"
    "    \"pattern\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 256},\n"
    "    \"command\": {\n"
    "      \"type\": \"object\",\n"
    "      \"properties\": {\n"
    "        \"match\": {\"oneOf\": [{\"$ref\": \"#/$defs/pattern\"}, {\"type\": \"array\", "
    "\"minItems\": 1, \"items\": {\"$ref\": \"#/$defs/pattern\"}}]},\n"
    "        \"ask\": {\"type\": \"boolean\"},\n"
    "        \"deny\": {\"type\": \"boolean\"},\n"
    "        \"reason\": {\"type\": \"string\", \"minLength\": 1},\n"
    "        \"profile\": {\n"
    "          \"type\": [\"object\", \"string\"],\n"
    "          \"properties\": {\n"
    "            \"denyNetwork\": {\"type\": \"boolean\"},\n"
    "            \"denyRead\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/path\"}},\n"
    "            \"denyWrite\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/path\"}},\n"
    "            \"allowWrite\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/path\"}}\n"
    "          },\n"
    "          \"additionalProperties\": false\n"
    "        }\n"
    "      },\n"
    "      \"required\": [\"match\"],\n"
    "      \"additionalProperties\": false\n"
    "    },\n"
    "    \"host\": {\"type\": \"string\", \"pattern\": "
    "\"^([*][.][^*/:]+[.][^*/:]+|[^*/:\\\\[\\\\]]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]+)?$\"},\n"
    "    \"deniedHost\": {\"type\": \"string\", \"pattern\": "
    "\"^([*]|[*][.][^*/:]+|[^*/:\\\\[\\\\]]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]+)?$\"},\n"
    "    \"request\": {\"type\": \"string\", \"pattern\": \"^ *([^ ]+ +)?[^ #%]+$\"},\n"
    "    \"proxy\": {\"type\": \"string\", \"pattern\": \"^(http|socks5h?)://\"}\n"
    "  }\n";

/* The one shape with words from a table. */
static void class_shape(struct buf *out)
{
    buf_str(out, ", \"type\": \"array\", \"items\": {\"enum\": [");
    for (size_t i = 0; i < PROTECTED_CLASSES; i++)
        buf_fmt(out, "%s\"%s\"", i ? ", " : "", protected_classes[i].name);
    buf_str(out, "]}}");
}

static void property(const struct setting_key *k, const char *indent, struct buf *out)
{
    const char *shape = shapes[k->shape];
    buf_fmt(out, "%s", indent);
    buf_json(out, k->name, strlen(k->name));
    buf_str(out, ": {\"description\": ");
    buf_json(out, k->brief, strlen(k->brief));
    if (k->shape == SHAPE_CLASSES) {
        class_shape(out);
        return;
    }
    /* the shape's own members behind it */
    buf_fmt(out, "%s%s", shape[1] == '}' ? "" : ", ", shape + 1);
}

static void properties(const char *section, const char *indent, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting_key *k = &setting_keys[i];
        if (strcmp(k->section, section) != 0 || k->effect == EFFECT_LATER)
            continue;
        buf_str(out, first ? "\n" : ",\n");
        first = false;
        if (k->shape != SHAPE_SECTION) {
            property(k, indent, out);
            continue;
        }
        buf_fmt(out, "%s\"%s\": {\n%s  \"description\": ", indent, k->name, indent);
        buf_json(out, k->brief, strlen(k->brief));
        buf_fmt(out, ",\n%s  \"type\": \"object\",\n%s  \"properties\": {", indent, indent);
        properties(k->name, "        ", out); /* sections hold no sections */
        buf_fmt(out, "\n%s  },\n%s  \"additionalProperties\": false\n%s}", indent, indent, indent);
    }
}

void settings_schema(struct buf *out)
{
    buf_str(out, "{\n"
                 "  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
                 "  \"title\": \"Buckle settings\",\n"
                 "  \"type\": \"object\",\n"
                 "  \"properties\": {");
    properties("", "    ", out);
    buf_str(out, "\n  },\n  \"additionalProperties\": false,\n");
    buf_str(out, defs);
    buf_str(out, "}\n");
}
