import java.net.URL;

class Fetch {
    public static void main(String[] args) throws Exception {
        new URL(args[0]).openStream().transferTo(System.out);
    }
}
